import { ILayoutRestorer } from '@jupyterlab/application';
import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { MainAreaWidget, ReactWidget, WidgetTracker } from '@jupyterlab/apputils';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';
import { Toolbar, ToolbarButton, UseSignal } from '@jupyterlab/ui-components';
import * as React from 'react';

import { wordsOf } from '../i18n/words';
import type { Words } from '../i18n/words';
import { runsIcon } from '../icons';
import { stateText } from '../model/states';
import { CommandIDs, IRunsModel, ISiflabClient } from '../tokens';
import type { LogView } from './view';

export const logPlugin: JupyterFrontEndPlugin<void> = {
  id: 'siflab:log',
  description: "A run's log in the main area, as it is printed.",
  autoStart: true,
  requires: [IRunsModel, ISiflabClient],
  optional: [ILayoutRestorer, ITranslator],
  activate: (
    app: JupyterFrontEnd,
    model: IRunsModel,
    client: ISiflabClient,
    restorer: ILayoutRestorer | null,
    translator: ITranslator | null
  ) => {
    const words = wordsOf(translator ?? nullTranslator);
    const { trans } = words;
    const tracker = new WidgetTracker<MainAreaWidget<LogView>>({ namespace: 'siflab-log' });

    app.commands.addCommand(CommandIDs.openLog, {
      label: trans.__('Open log'),
      isEnabled: args => typeof args.id === 'string',
      execute: async args => {
        const id = args.id as string;
        const shown = tracker.find(widget => widget.id === widgetId(id));
        if (shown) {
          app.shell.activateById(shown.id);
          return;
        }
        const { LogView } = await import('./view');
        const view = new LogView({ id, client, model, words });
        const widget = new MainAreaWidget({ content: view });
        widget.id = widgetId(id);
        const name = () => {
          widget.title.label = trans.__('Log: %1', model.find(id)?.name ?? id);
        };
        name();
        model.changed.connect(name);
        widget.title.icon = runsIcon;
        widget.title.closable = true;
        fillToolbar(widget.toolbar, view, id, model, words);
        app.shell.add(widget, 'main');
        await tracker.add(widget);
        app.shell.activateById(widget.id);
        // The state beside the log is live as long as the log is open.
        const watch = model.watch();
        view.disposed.connect(() => {
          model.changed.disconnect(name);
          watch.dispose();
        });
        await view.load();
      }
    });

    void restorer?.restore(tracker, {
      command: CommandIDs.openLog,
      args: widget => ({ id: widget.id.slice(ID_PREFIX.length) }),
      name: widget => widget.id
    });
  }
};

const ID_PREFIX = 'siflab-log-';

function widgetId(run: string): string {
  return `${ID_PREFIX}${run}`;
}

function fillToolbar(
  toolbar: Toolbar,
  view: LogView,
  id: string,
  model: IRunsModel,
  words: Words
): void {
  const { trans } = words;
  const follow = new ToolbarButton({
    label: trans.__('Follow'),
    tooltip: trans.__('Stay at the end while the log grows'),
    pressedTooltip: trans.__('Stop following'),
    pressed: view.isFollowing,
    onClick: () => {
      view.isFollowing = !view.isFollowing;
    }
  });
  const earlier = new ToolbarButton({
    label: trans.__('Show earlier'),
    tooltip: trans.__('Load what was printed before this'),
    enabled: false,
    onClick: () => void view.loadEarlier()
  });
  view.changed.connect(() => {
    follow.pressed = view.isFollowing;
    earlier.enabled = view.hasEarlier;
  });
  const state = ReactWidget.create(
    React.createElement(UseSignal<IRunsModel, void>, {
      signal: model.changed,
      children: () => {
        const run = model.find(id);
        const text = run ? stateText(run, words) : '';
        return React.createElement(
          'span',
          { className: 'siflab-Log-state siflab-Muted', 'data-siflab': 'log-state' },
          run?.job_id ? `${trans.__('Job %1', run.job_id)} · ${text}` : text
        );
      }
    })
  );
  toolbar.addItem('siflab-follow', follow);
  toolbar.addItem('siflab-earlier', earlier);
  toolbar.addItem('spacer', Toolbar.createSpacerItem());
  toolbar.addItem('siflab-state', state);
}

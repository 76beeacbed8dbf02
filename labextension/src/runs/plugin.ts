import { ILayoutRestorer } from '@jupyterlab/application';
import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { ICommandPalette } from '@jupyterlab/apputils';
import { IDocumentManager } from '@jupyterlab/docmanager';
import { ISettingRegistry } from '@jupyterlab/settingregistry';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';
import type { ReadonlyPartialJSONObject } from '@lumino/coreutils';

import type { Run } from '../api/types';
import { wordsOf } from '../i18n/words';
import { runsIcon } from '../icons';
import { hasEnded } from '../model/states';
import { CommandIDs, IRunsModel, SETTINGS_PLUGIN } from '../tokens';
import { RunActions } from './actions';
import type { CardAction } from './card';
import { RunsPanel } from './panel';

/** Behind Lab's own panels of the left sidebar (the file browser is 100, running 200, the table of contents 400). */
const RANK = 450;

export const runsPlugin: JupyterFrontEndPlugin<void> = {
  id: 'siflab:runs',
  description: 'The Runs panel, and what can be done with a run.',
  autoStart: true,
  requires: [IRunsModel, IDocumentManager],
  optional: [ISettingRegistry, ICommandPalette, ILayoutRestorer, ITranslator],
  activate: (
    app: JupyterFrontEnd,
    model: IRunsModel,
    documents: IDocumentManager,
    settings: ISettingRegistry | null,
    palette: ICommandPalette | null,
    restorer: ILayoutRestorer | null,
    translator: ITranslator | null
  ) => {
    const words = wordsOf(translator ?? nullTranslator);
    const { trans } = words;
    const actions = new RunActions(app, documents, model, words);

    const commandOf: Record<CardAction, string> = {
      result: CommandIDs.openResult,
      source: CommandIDs.openSource,
      log: CommandIDs.openLog,
      folder: CommandIDs.openFolder,
      cancel: CommandIDs.cancelRun
    };
    const panel = new RunsPanel({
      model,
      words,
      onAction: (action, run) => void app.commands.execute(commandOf[action], { id: run.id })
    });
    app.shell.add(panel, 'left', { rank: RANK, type: 'Runs' });
    restorer?.add(panel, panel.id);

    app.commands.addCommand(CommandIDs.showRuns, {
      label: trans.__('Show runs on Slurm'),
      caption: trans.__('Show the notebooks that were promoted to Slurm batch jobs'),
      icon: args => (args.palette ? undefined : runsIcon),
      execute: args => {
        app.shell.activateById(panel.id);
        if (typeof args.id === 'string') {
          panel.highlight(args.id);
        }
      }
    });
    palette?.addItem({
      command: CommandIDs.showRuns,
      category: trans.__('Slurm'),
      args: { palette: true }
    });

    const runOf = (args: ReadonlyPartialJSONObject) => model.find(args.id as string);
    const add = (
      id: string,
      label: string,
      execute: (run: Run) => Promise<void>,
      isEnabled: (run: Run) => boolean = () => true
    ) =>
      app.commands.addCommand(id, {
        label,
        isEnabled: args => {
          const run = runOf(args);
          return run !== undefined && isEnabled(run);
        },
        execute: async args => {
          const run = runOf(args);
          if (run) {
            await execute(run);
          }
        }
      });
    add(CommandIDs.openResult, trans.__('Open result'), run => actions.openResult(run));
    add(CommandIDs.openSource, trans.__('Open source'), run => actions.openSource(run));
    add(CommandIDs.openFolder, trans.__('Open folder'), run => actions.openFolder(run));
    add(
      CommandIDs.cancelRun,
      trans.__('Cancel run'),
      async run => actions.cancel(run, await isCancelConfirmed(settings)),
      run => !hasEnded(run)
    );
  }
};

/** The setting `confirmCancel`; true where it cannot be read. */
async function isCancelConfirmed(settings: ISettingRegistry | null): Promise<boolean> {
  try {
    const found = await settings?.get(SETTINGS_PLUGIN, 'confirmCancel');
    return found?.composite !== false;
  } catch {
    return true;
  }
}

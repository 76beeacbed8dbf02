import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import {
  CommandToolbarButton,
  ICommandPalette,
  IToolbarWidgetRegistry,
  Notification,
  showErrorMessage
} from '@jupyterlab/apputils';
import type { ISessionContext } from '@jupyterlab/apputils';
import { IDocumentManager } from '@jupyterlab/docmanager';
import type { DocumentRegistry } from '@jupyterlab/docregistry';
import { IFileBrowserFactory } from '@jupyterlab/filebrowser';
import type { NotebookPanel } from '@jupyterlab/notebook';
import { INotebookTracker } from '@jupyterlab/notebook';
import { IStateDB } from '@jupyterlab/statedb';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';

import type { Run } from '../api/types';
import { wordsOf } from '../i18n/words';
import type { Words } from '../i18n/words';
import { promoteIcon } from '../icons';
import { CommandIDs, IRunsModel, ISiflabClient } from '../tokens';
import { recallForm, rememberForm } from './memory';
import type { Form } from './form';
import { kernelWithGpu } from './kernel';
import { findTarget } from './target';
import type { Target } from './target';

/** The toolbar item's name in schema/plugin.json. */
const TOOLBAR_ITEM = 'siflab-promote';

/** How long the notice of a submission stays, in milliseconds. */
const NOTICE = 15000;

export const promotePlugin: JupyterFrontEndPlugin<void> = {
  id: 'siflab:promote',
  description: 'The button, the menu entries and the dialog that make a notebook a batch job.',
  autoStart: true,
  requires: [INotebookTracker, IDocumentManager, IRunsModel, ISiflabClient],
  optional: [IFileBrowserFactory, IToolbarWidgetRegistry, ICommandPalette, IStateDB, ITranslator],
  activate: (
    app: JupyterFrontEnd,
    tracker: INotebookTracker,
    documents: IDocumentManager,
    runs: IRunsModel,
    client: ISiflabClient,
    browsers: IFileBrowserFactory | null,
    toolbars: IToolbarWidgetRegistry | null,
    palette: ICommandPalette | null,
    state: IStateDB | null,
    translator: ITranslator | null
  ) => {
    const words = wordsOf(translator ?? nullTranslator);
    const { trans } = words;
    const sources = { tracker, documents, browsers };
    /** What was typed into a dialog that was cancelled, by the notebook's path. */
    const drafts = new Map<string, Form>();
    /** A second click while a dialog opens or is open does nothing. */
    let isOpen = false;

    app.commands.addCommand(CommandIDs.promote, {
      label: args =>
        args.toolbar ? trans.__('Promote') : trans.__('Promote notebook to sbatch job…'),
      caption: trans.__('Promote notebook to sbatch job'),
      icon: args => (args.palette ? undefined : promoteIcon),
      isEnabled: args => findTarget(args, sources) !== null,
      execute: async args => {
        const target = findTarget(args, sources);
        if (!target || isOpen) {
          return;
        }
        isOpen = true;
        try {
          await promote(target);
        } finally {
          isOpen = false;
        }
      }
    });

    const promote = async (target: Target) => {
      const wasSaved = await saveIfDirty(target.context, words);
      if (wasSaved === null) {
        return;
      }
      const path = app.serviceManager.contents.localPath(target.path);
      const [{ Promotion }, { PromotionDialog }, { NotebookMender }] = await Promise.all([
        import('./model'),
        import('./dialog'),
        import('./mender')
      ]);
      const last = drafts.get(path) ?? (await recallForm(state));
      const panel = tracker.find(item => item.context.path === target.path) ?? null;
      const mender = panel && new NotebookMender(panel);
      const promotion = new Promotion({ client, runs, path, wasSaved, last, mender });
      const dialog = new PromotionDialog(promotion, words);
      const closed = dialog.launch();
      void promotion.load();
      await closed;
      if (promotion.form) {
        drafts.set(path, promotion.form);
      }
      if (promotion.run && promotion.form) {
        drafts.delete(path);
        await rememberForm(state, promotion.form);
        announce(promotion.run, await kernelWithGpu(target.path, tracker, client), words, app);
      }
      if (promotion.leavingFor) {
        mender?.goTo(promotion.leavingFor);
      }
      promotion.dispose();
    };

    // The button means the notebook that it belongs to, not whichever is current.
    toolbars?.addFactory<NotebookPanel>(
      'Notebook',
      TOOLBAR_ITEM,
      panel =>
        new CommandToolbarButton({
          commands: app.commands,
          id: CommandIDs.promote,
          args: { toolbar: true, widget: panel.id },
          label: trans.__('Promote')
        })
    );
    // Commands are asked again whether they are enabled when the tracked notebooks change.
    const refresh = () => app.commands.notifyCommandChanged(CommandIDs.promote);
    tracker.widgetAdded.connect(refresh);
    tracker.currentChanged.connect(refresh);

    palette?.addItem({
      command: CommandIDs.promote,
      category: trans.__('Slurm'),
      args: { palette: true }
    });
  }
};

/** Save a document with unsaved changes. True when it was saved, false when there was nothing, null when it failed. */
async function saveIfDirty(
  context: DocumentRegistry.Context | null,
  words: Words
): Promise<boolean | null> {
  if (!context?.model.dirty) {
    return false;
  }
  const { trans } = words;
  try {
    await context.save();
  } catch (error) {
    await showErrorMessage(
      trans.__('The notebook could not be saved'),
      trans.__(
        'It was not promoted, because the batch job would have run an older state. %1',
        error instanceof Error ? error.message : String(error)
      )
    );
    return null;
  }
  if (context.model.dirty) {
    // Lab has asked (the file changed on disk, for example) and was told not to save.
    return null;
  }
  return true;
}

/** Say that it was submitted; `kernel` is offered to be shut down. */
function announce(
  run: Run,
  kernel: ISessionContext | null,
  words: Words,
  app: JupyterFrontEnd
): void {
  const { trans } = words;
  const submitted = run.job_id
    ? trans.__('"%1" was submitted as Slurm job %2.', run.name, run.job_id)
    : trans.__('"%1" was handed to Slurm; its job id is not known yet.', run.name);
  const actions: Notification.IAction[] = [
    {
      label: trans.__('Show runs'),
      callback: () => void app.commands.execute(CommandIDs.showRuns, { id: run.id })
    }
  ];
  if (!kernel) {
    Notification.success(submitted, { autoClose: NOTICE, actions });
    return;
  }
  actions.push({
    label: trans.__('Shut down the kernel'),
    caption: trans.__('Its variables are lost; the notebook and its outputs stay'),
    callback: () => void shutDown(kernel, words)
  });
  const holds = trans.__(
    'The kernel of this notebook computes nothing now, but what it has on the GPU stays there.'
  );
  // It stays until it is answered: an offer that vanishes is none.
  Notification.success(`${submitted} ${holds}`, { autoClose: false, actions });
}

async function shutDown(kernel: ISessionContext, words: Words): Promise<void> {
  try {
    await kernel.shutdown();
  } catch (error) {
    await showErrorMessage(
      words.trans.__('The kernel could not be shut down'),
      error instanceof Error ? error.message : String(error)
    );
  }
}

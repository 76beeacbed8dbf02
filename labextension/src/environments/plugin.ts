import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { ICommandPalette, Notification } from '@jupyterlab/apputils';
import { INotebookTracker } from '@jupyterlab/notebook';
import { IStateDB } from '@jupyterlab/statedb';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';

import type { EnvironmentJob } from '../api/types';
import type { Words } from '../i18n/words';
import { wordsOf } from '../i18n/words';
import { CommandIDs, ISiflabClient } from '../tokens';
import type { Draft } from './form';
import { EnvironmentsModel } from './model';
import { doneText, outdatedText, workText } from './texts';

/** Where it is kept which outdated environments the person does not want to hear of again. */
const DECLINED = 'siflab:environments-declined';

/** How long the notice of an end stays, in milliseconds. */
const NOTICE = 15000;

export const environmentsPlugin: JupyterFrontEndPlugin<void> = {
  id: 'siflab:environments',
  description: "The person's own packages: environments for this session's image, as kernels.",
  autoStart: true,
  requires: [ISiflabClient],
  optional: [INotebookTracker, ICommandPalette, IStateDB, ITranslator],
  activate: (
    app: JupyterFrontEnd,
    client: ISiflabClient,
    tracker: INotebookTracker | null,
    palette: ICommandPalette | null,
    state: IStateDB | null,
    translator: ITranslator | null
  ) => {
    const words = wordsOf(translator ?? nullTranslator);
    const { trans } = words;
    const model = new EnvironmentsModel(client);
    const draft: Draft = { name: '', packages: '', root: '' };
    let isOpen = false;
    let following: string | null = null;

    /** While no dialog shows the work, a notice does. */
    const follow = (job: EnvironmentJob | null) => {
      if (job && !following) {
        following = Notification.emit(workText(job, words), 'in-progress', { autoClose: false });
      }
    };

    app.commands.addCommand(CommandIDs.createEnvironment, {
      label: trans.__('Create an environment for this image…'),
      caption: trans.__('Install your own packages on top of this image, as a kernel of its own'),
      execute: async () => {
        if (isOpen) {
          return;
        }
        isOpen = true;
        try {
          model.forget();
          const { EnvironmentDialog } = await import('./dialog');
          const closed = new EnvironmentDialog(model, draft, words).launch();
          void model.load();
          await closed;
          if (model.isBusy) {
            follow(model.job);
          }
        } finally {
          isOpen = false;
        }
      }
    });

    app.commands.addCommand(CommandIDs.rebuildEnvironment, {
      label: args =>
        args.name
          ? trans.__('Rebuild the environment %1 for this image', args.name)
          : trans.__('Rebuild my environments of an earlier image'),
      isEnabled: args => Boolean(args.name) || model.outdated.length > 0,
      execute: async args => {
        const name = (args.name as string | undefined) ?? model.outdated[0]?.name;
        if (!name) {
          return;
        }
        if (await model.begin({ action: 'rebuild', name, packages: [], from_source: false })) {
          follow(model.job);
        } else if (model.failure) {
          Notification.error(words.say(model.failure.text), { autoClose: false });
        }
      }
    });

    model.ended.connect((_, job) => {
      void app.serviceManager.kernelspecs.refreshSpecs();
      if (following) {
        Notification.dismiss(following);
        following = null;
      }
      if (job.state === 'done') {
        const use = useAction(job, tracker, words);
        Notification.success(doneText(job, words), { autoClose: NOTICE, actions: use });
        if (job.action === 'create') {
          Object.assign(draft, { name: '', packages: '' });
        }
        if (job.action === 'rebuild' && model.outdated.length > 0) {
          void app.commands.execute(CommandIDs.rebuildEnvironment, {});
        }
      } else if (!isOpen) {
        const why = job.failure ? words.say(job.failure.message) : trans.__('It was interrupted.');
        Notification.error(trans.__('Environment "%1": %2', job.name, why), { autoClose: false });
      }
    });
    model.changed.connect(() => app.commands.notifyCommandChanged(CommandIDs.rebuildEnvironment));

    for (const command of [CommandIDs.createEnvironment, CommandIDs.rebuildEnvironment]) {
      palette?.addItem({ command, category: trans.__('Slurm') });
    }

    void app.restored.then(async () => {
      await model.load();
      if (model.job?.state === 'running') {
        follow(model.job);
      }
      await offerRebuild(app, model, state, words);
    });
  }
};

/** Say once that environments of an earlier image should be rebuilt. */
async function offerRebuild(
  app: JupyterFrontEnd,
  model: EnvironmentsModel,
  state: IStateDB | null,
  words: Words
): Promise<void> {
  const { outdated, list } = model;
  if (outdated.length === 0 || model.isBusy) {
    return;
  }
  const { trans } = words;
  const token = `${list?.image?.identity} ${outdated.map(each => each.name).join(' ')}`;
  if ((await state?.fetch(DECLINED)) === token) {
    return;
  }
  const id = Notification.warning(outdatedText(outdated, words), {
    autoClose: false,
    actions: [
      {
        label: trans.__('Rebuild'),
        displayType: 'accent',
        callback: () => void app.commands.execute(CommandIDs.rebuildEnvironment, {})
      },
      {
        label: trans.__('Not now'),
        callback: () => {
          void state?.save(DECLINED, token);
          Notification.dismiss(id);
        }
      }
    ]
  });
}

/** One click more: the notebook that is open takes the new kernel. */
function useAction(job: EnvironmentJob, tracker: INotebookTracker | null, words: Words) {
  const panel = tracker?.currentWidget;
  const name = job.environment?.kernel;
  if (!panel || !name || job.action === 'remove') {
    return [];
  }
  return [
    {
      label: words.trans.__('Use it in %1', panel.title.label),
      callback: () => void panel.sessionContext.changeKernel({ name })
    }
  ];
}

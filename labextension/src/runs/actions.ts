import type { JupyterFrontEnd } from '@jupyterlab/application';
import { Dialog, showDialog, showErrorMessage } from '@jupyterlab/apputils';
import type { IDocumentManager } from '@jupyterlab/docmanager';
import type { IDocumentWidget } from '@jupyterlab/docregistry';

import { asFailure } from '../api/client';
import type { Run } from '../api/types';
import type { Words } from '../i18n/words';
import { hasEnded } from '../model/states';
import type { IRunsModel } from '../tokens';
import { contentsPath } from './paths';

/** What can be done with a run from its card. Every failing path ends in a message. */
export class RunActions {
  constructor(
    private readonly app: JupyterFrontEnd,
    private readonly documents: IDocumentManager,
    private readonly runs: IRunsModel,
    private readonly words: Words
  ) {}

  /** Open the executed notebook, beside its source where that still exists. */
  async openResult(run: Run): Promise<void> {
    const path = await this._locate(run.output);
    if (path === null) {
      return;
    }
    const shown = this.documents.findWidget(path, null);
    if (shown) {
      this.app.shell.activateById(shown.id);
      const context = this.documents.contextForWidget(shown);
      if (context && !context.model.dirty) {
        // The run may have written more since it was opened.
        await context.revert();
      }
      return;
    }
    if (!(await this._exists(path))) {
      await this._complainOfAbsence(run.output ?? path);
      return;
    }
    const source = await this._source(run);
    this.documents.openOrReveal(
      path,
      undefined,
      undefined,
      source ? { mode: 'split-right', ref: source.id } : {},
      // Somebody wants to read it: no kernel, which would take a part of the session's GPU.
      { shouldStart: false, autoStartDefault: false }
    );
  }

  async openSource(run: Run): Promise<void> {
    const path = await this._locate(run.source);
    if (path === null) {
      return;
    }
    if (this.documents.findWidget(path, null) || (await this._exists(path))) {
      this.documents.openOrReveal(path);
    } else {
      await this._complainOfAbsence(run.source);
    }
  }

  async openFolder(run: Run): Promise<void> {
    const path = await this._locate(run.folder);
    if (path !== null) {
      await this.app.commands.execute('filebrowser:open-path', { path: `/${path}` });
    }
  }

  /** Cancel, after asking unless `confirm` is false. */
  async cancel(run: Run, confirm: boolean): Promise<void> {
    if (hasEnded(run) || (confirm && !(await this._confirmCancel(run)))) {
      return;
    }
    try {
      await this.runs.cancel(run.id);
    } catch (error) {
      const title = this.words.trans.__('"%1" could not be cancelled', run.name);
      await showErrorMessage(title, this.words.say(asFailure(error).text));
    }
  }

  private async _confirmCancel(run: Run): Promise<boolean> {
    const { trans } = this.words;
    const result = await showDialog({
      title: trans.__('Cancel the run "%1"?', run.name),
      body: trans.__(
        'Slurm ends the job %1. What it has computed so far stays in its folder.',
        run.job_id ?? ''
      ),
      buttons: [
        Dialog.cancelButton({ label: trans.__('Keep it') }),
        Dialog.warnButton({ label: trans.__('Cancel the run') })
      ],
      defaultButton: 0
    });
    return result.button.accept;
  }

  /** The source's widget, opened if need be; null when the source is gone or lies elsewhere. */
  private async _source(run: Run): Promise<IDocumentWidget | null> {
    const path = contentsPath(run.source, this.runs.site?.server_root);
    if (path === null) {
      return null;
    }
    const shown = this.documents.findWidget(path, null);
    if (shown) {
      return shown;
    }
    if (!(await this._exists(path))) {
      return null;
    }
    const opened = this.documents.openOrReveal(path, undefined, undefined, { activate: false });
    await opened?.revealed;
    return opened ?? null;
  }

  /** The contents API's path of a file of a run, or null after saying why there is none. */
  private async _locate(path: string | null | undefined): Promise<string | null> {
    const { trans } = this.words;
    if (!path) {
      await showErrorMessage(
        trans.__('There is no result yet'),
        trans.__('The executed notebook appears as soon as the run has begun.')
      );
      return null;
    }
    const site = this.runs.site ?? (await this.runs.loadSite().catch(() => null));
    const found = contentsPath(path, site?.server_root);
    if (found === null) {
      await showErrorMessage(
        trans.__('Outside the folder that this JupyterLab shows'),
        trans.__('It can be opened from a terminal: %1', path)
      );
    }
    return found;
  }

  private async _exists(path: string): Promise<boolean> {
    try {
      await this.app.serviceManager.contents.get(path, { content: false });
      return true;
    } catch {
      return false;
    }
  }

  private async _complainOfAbsence(path: string): Promise<void> {
    const { trans } = this.words;
    await showErrorMessage(
      trans.__('The file is not there'),
      trans.__('It was moved or deleted, or the file system does not show it yet: %1', path)
    );
  }
}

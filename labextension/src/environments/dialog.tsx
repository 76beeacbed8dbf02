import { Dialog, ReactWidget } from '@jupyterlab/apputils';
import type { Message } from '@lumino/messaging';
import * as React from 'react';

import type { Words } from '../i18n/words';
import type { Draft } from './form';
import { EnvironmentForm, requestOf } from './form';
import type { EnvironmentsModel } from './model';

/** The dialog: it closes when the environment is there, and stays with all that was typed when that fails. */
export class EnvironmentDialog extends Dialog<void> {
  constructor(
    private readonly model: EnvironmentsModel,
    private readonly draft: Draft,
    private readonly words: Words
  ) {
    const { trans } = words;
    super({
      title: trans.__('Create an environment for this image'),
      body: ReactWidget.create(<EnvironmentForm model={model} draft={draft} words={words} />),
      buttons: [
        Dialog.cancelButton({ label: trans.__('Cancel') }),
        Dialog.okButton({ label: trans.__('Create') })
      ],
      hasClose: true,
      focusNodeSelector: '[name="environment-name"]'
    });
    this.addClass('siflab-EnvironmentDialog');
    this.node.dataset.siflab = 'environment-dialog';
    model.changed.connect(this._show);
    model.ended.connect(this._onEnded);
  }

  /** Begin, and close only when there is an environment. */
  override resolve(index?: number): void {
    if (index === 0) {
      this.reject();
      return;
    }
    const request = requestOf(this.draft);
    if (request && !this.model.isBusy && this.model.list?.available !== false) {
      void this.model.begin(request);
    } else if (!request) {
      this.node.querySelector<HTMLElement>('[name="environment-name"]')?.focus();
    }
  }

  override dispose(): void {
    this.model.changed.disconnect(this._show);
    this.model.ended.disconnect(this._onEnded);
    super.dispose();
  }

  /** Enter in the list of packages is a new line, not the button. */
  override handleEvent(event: Event): void {
    const isEnter = event instanceof KeyboardEvent && event.key === 'Enter';
    if (isEnter && event.target instanceof HTMLTextAreaElement) {
      return;
    }
    super.handleEvent(event);
  }

  protected override onAfterAttach(msg: Message): void {
    super.onAfterAttach(msg);
    this._show();
  }

  private readonly _onEnded = (): void => {
    if (this.model.job?.state === 'done') {
      super.resolve(1);
    }
  };

  /** The buttons follow the model. */
  private readonly _show = (): void => {
    const { trans } = this.words;
    const { isBusy, list } = this.model;
    const create = this.node.querySelector<HTMLButtonElement>('.jp-Dialog-footer .jp-mod-accept');
    if (create) {
      // Not `disabled`: that would take the focus away, and with it Escape and Tab.
      create.setAttribute('aria-disabled', String(isBusy || list?.available === false));
      create.dataset.siflab = 'environment-create';
      setLabel(create, isBusy ? trans.__('Creating…') : trans.__('Create'));
    }
    const cancel = this.node.querySelector<HTMLButtonElement>('.jp-Dialog-footer .jp-mod-reject');
    if (cancel) {
      setLabel(cancel, isBusy ? trans.__('Close, and let it go on') : trans.__('Cancel'));
    }
  };
}

function setLabel(button: HTMLElement, text: string): void {
  const label = button.querySelector('.jp-Dialog-buttonLabel');
  if (label && label.textContent !== text) {
    label.textContent = text;
  }
}

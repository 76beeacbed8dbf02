import { Dialog, ReactWidget } from '@jupyterlab/apputils';
import type { Message } from '@lumino/messaging';
import * as React from 'react';

import type { Words } from '../i18n/words';
import { PromotionForm } from './body';
import type { Promotion } from './model';

/** The dialog: it closes on success or on cancel, and stays with all that was typed when the submission fails. */
export class PromotionDialog extends Dialog<void> {
  constructor(
    private readonly promotion: Promotion,
    private readonly words: Words
  ) {
    const { trans } = words;
    super({
      title: trans.__('Promote notebook to sbatch job'),
      body: ReactWidget.create(<PromotionForm promotion={promotion} words={words} />),
      buttons: [
        Dialog.cancelButton({ label: trans.__('Cancel') }),
        Dialog.okButton({ label: trans.__('Submit') })
      ],
      hasClose: true,
      // Where the form is there before Lab sets the focus; else the form takes it when it comes.
      focusNodeSelector: '[name="profile"]'
    });
    this.addClass('siflab-PromotionDialog');
    this.node.dataset.siflab = 'promote-dialog';
    promotion.changed.connect(this._show);
  }

  /** Submit, and close only when there is a run. */
  override resolve(index?: number): void {
    if (index === 0) {
      this.reject();
      return;
    }
    void this.promotion.submit().then(run => {
      if (run) {
        super.resolve(index);
      }
    });
  }

  /** While a submission is on its way its answer is waited for, so that no run starts unseen. */
  override reject(): void {
    if (!this.promotion.isSubmitting) {
      super.reject();
    }
  }

  override dispose(): void {
    this.promotion.changed.disconnect(this._show);
    super.dispose();
  }

  protected override onAfterAttach(msg: Message): void {
    // Before Lab's own listener, which knows only what could be focused when the dialog was empty.
    this.node.addEventListener('keydown', this._onTab, true);
    super.onAfterAttach(msg);
    this._show();
  }

  protected override onAfterDetach(msg: Message): void {
    this.node.removeEventListener('keydown', this._onTab, true);
    super.onAfterDetach(msg);
  }

  /** The focus goes round within the dialog, both ways. */
  private readonly _onTab = (event: KeyboardEvent): void => {
    if (event.key !== 'Tab') {
      return;
    }
    const stops = Array.from(
      this.node.querySelectorAll<HTMLElement>(
        'button, select, input, textarea, summary, [tabindex="0"]'
      )
    ).filter(stop => stop.offsetParent !== null && !stop.matches(':disabled'));
    const [first, last] = [stops[0], stops[stops.length - 1]];
    const [from, to] = event.shiftKey ? [first, last] : [last, first];
    if (document.activeElement === from) {
      event.preventDefault();
      event.stopImmediatePropagation();
      to.focus();
    }
  };

  /** The buttons follow the model. */
  private readonly _show = (): void => {
    const { isSubmitting, obstacle, form, leavingFor } = this.promotion;
    if (leavingFor) {
      this.reject();
      return;
    }
    const { trans } = this.words;
    const submit = this.node.querySelector<HTMLButtonElement>('.jp-Dialog-footer .jp-mod-accept');
    if (submit) {
      // Not `disabled`: that would take the focus away, and with it Escape and Tab.
      submit.setAttribute('aria-disabled', String(isSubmitting || obstacle !== null || !form));
      submit.dataset.siflab = 'promote-submit';
      const label = submit.querySelector('.jp-Dialog-buttonLabel');
      const text = isSubmitting ? trans.__('Submitting…') : trans.__('Submit');
      if (label && label.textContent !== text) {
        label.textContent = text;
      }
    }
  };
}

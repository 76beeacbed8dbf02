import type { ISignal } from '@lumino/signaling';
import { Signal } from '@lumino/signaling';

import type { Client } from '../api/client';
import type { ApiFailure } from '../api/failure';
import type { FieldError, Finding, Parameter, Preview, Profile, Run, Site } from '../api/types';
import { isUnderstood } from '../api/version';
import type { IRunsModel } from '../tokens';
import type { Field, FieldName, Problem } from './fields';
import { check, fieldsOf } from './fields';
import type { Form } from './form';
import { firstForm, newSubmitKey, problemsOf, requestOf, withProfile, withValue } from './form';
import type { Mender } from './mender';
import type { OptionName, Options } from './options';
import { NO_OPTIONS, optionProblems } from './options';
import { refusalOf, withoutField } from './refusal';
import type { Refusal } from './refusal';

/** How long nothing must have been typed before the server is asked, in milliseconds. */
const PREVIEW_DELAY = 350;

export interface PromotionOptions {
  client: Pick<Client, 'preview' | 'preflight' | 'getParameters'>;
  runs: Pick<IRunsModel, 'loadSite' | 'submit'>;
  /** The notebook, relative to the server's root folder. */
  path: string;
  /** The notebook had unsaved changes and was saved for this. */
  wasSaved: boolean;
  /** What was chosen the last time. */
  last: Form | null;
  /** The open notebook, if there is one. */
  mender?: Mender | null;
}

/** One opened dialog: what is chosen, what the server says to it, and the submission. No view. */
export class Promotion {
  constructor(private readonly given: PromotionOptions) {
    this._form = null;
  }

  readonly submitKey = newSubmitKey();

  get changed(): ISignal<Promotion, void> {
    return this._changed;
  }
  get path(): string {
    return this.given.path;
  }
  get wasSaved(): boolean {
    return this.given.wasSaved;
  }
  get site(): Site | null {
    return this._site;
  }
  get form(): Form | null {
    return this._form;
  }
  get profiles(): Profile[] {
    return this._site?.profiles.filter(profile => profile.for_runs) ?? [];
  }
  get profile(): Profile | undefined {
    return this.profiles.find(profile => profile.id === this._form?.profile);
  }
  get fields(): Field[] {
    return this.profile ? fieldsOf(this.profile, this._site?.images ?? []) : [];
  }
  /** What is wrong with what was typed. */
  get problems(): Map<FieldName, Problem> {
    return this._form ? problemsOf(this._form, this.fields) : new Map();
  }
  get options(): Options {
    return this._form?.options ?? NO_OPTIONS;
  }
  /** Of the notebook; empty until the server has said, and for a script. */
  get parameters(): readonly Parameter[] {
    return this._parameters;
  }
  get isScript(): boolean {
    return this.path.endsWith('.py');
  }
  /** What is wrong among the options. */
  get optionProblems(): Map<OptionName, Problem> {
    return optionProblems(this.options);
  }
  /** What the server says is wrong, at its fields; a field's errors go when the field is changed. */
  get errors(): readonly FieldError[] {
    return [...(this._refusal?.errors ?? []), ...(this._objection?.errors ?? [])];
  }
  get preview(): Preview | null {
    return this._preview;
  }
  get isPreviewing(): boolean {
    return this._isPreviewing;
  }
  get findings(): readonly Finding[] | null {
    return this._findings;
  }
  /** Why loading, the preview or the submission failed as a whole. */
  get failure(): ApiFailure | null {
    return (this._refusal ?? this._objection)?.failure ?? null;
  }
  get isSubmitting(): boolean {
    return this._isSubmitting;
  }
  /** How often a submission was turned down, by what was typed or by the server. */
  get rejections(): number {
    return this._rejections;
  }
  get run(): Run | null {
    return this._run;
  }

  /** Why nothing can be submitted here, or null. */
  get obstacle(): 'version' | 'no-slurm' | 'no-profiles' | null {
    if (!this._site) {
      return null;
    }
    if (!isUnderstood(this._site.api_version)) {
      return 'version';
    }
    if (!this._site.can_submit) {
      return 'no-slurm';
    }
    return this.profiles.length === 0 ? 'no-profiles' : null;
  }

  async load(): Promise<void> {
    this._objection = null;
    this._emit();
    try {
      this._site = await this.given.runs.loadSite();
    } catch (error) {
      this._objection = refusalOf(error);
      this._emit();
      return;
    }
    const { images, default_profile } = this._site;
    this._form ??= firstForm(this.profiles, images, this.given.last, default_profile);
    this._emit();
    void this._loadParameters();
    if (this._form && this.obstacle !== 'version') {
      this._ask(0);
    }
  }

  setProfile(id: string): void {
    const profile = this.profiles.find(item => item.id === id);
    if (this._form && profile && this._site) {
      this._form = withProfile(this._form, profile, this._site.images);
      this._refusal = null;
      this._ask(0);
    }
  }

  setValue(field: FieldName, value: string): void {
    if (this._form) {
      this._form = withValue(this._form, field, value);
      this._mended(field);
    }
  }

  setName(name: string): void {
    if (this._form) {
      this._form = { ...this._form, name };
      this._mended('name');
    }
  }

  /** Change options; `field` is the request's, whose errors are mended by it. */
  setOptions(change: Partial<Options>, field: string): void {
    if (this._form) {
      this._form = { ...this._form, options: { ...this.options, ...change } };
      this._mended(field);
    }
  }

  setParameter(name: string, value: string): void {
    this.setOptions({ parameters: { ...this.options.parameters, [name]: value } }, name);
  }

  /** Whether the fix of a finding can be made by one click. */
  canFix(finding: Finding): boolean {
    const { fix } = finding;
    if (fix?.kind === 'set-field') {
      const field = this.fields.find(item => item.name === fix.field);
      return field !== undefined && check(field, fix.text) === null;
    }
    return this.given.mender?.canMend(finding) ?? false;
  }

  /** Make it, and look again. */
  async fix(finding: Finding): Promise<void> {
    if (!this.canFix(finding)) {
      return;
    }
    if (finding.fix?.kind === 'set-field') {
      this.setValue(finding.fix.field as FieldName, finding.fix.text);
      return;
    }
    try {
      await this.given.mender?.mend(finding);
    } catch (error) {
      this._objection = refusalOf(error);
      this._emit();
      return;
    }
    this._checked = null;
    this._ask(0);
  }

  /** The finding whose line is to be shown; the dialog closes for it, and what was typed is kept. */
  get leavingFor(): Finding | null {
    return this._leavingFor;
  }

  canGoTo(finding: Finding): boolean {
    return Boolean(this.given.mender) && typeof finding.cell === 'number';
  }

  goTo(finding: Finding): void {
    this._leavingFor = finding;
    this._emit();
  }

  /** Submit. Returns the run, or null when something is to be mended first. A second call while it runs is ignored. */
  async submit(): Promise<Run | null> {
    if (this._isSubmitting || this._run || !this._form || this.obstacle) {
      return this._run;
    }
    if (this.problems.size + this.optionProblems.size > 0) {
      this._rejections += 1;
      this._emit();
      return null;
    }
    this._stopAsking();
    this._isSubmitting = true;
    this._refusal = null;
    this._emit();
    try {
      this._run = await this.given.runs.submit(this._request());
    } catch (error) {
      this._refusal = refusalOf(error);
      this._rejections += 1;
    }
    this._isSubmitting = false;
    if (this._run) {
      this._emit();
    } else {
      this._ask(0);
    }
    return this._run;
  }

  dispose(): void {
    this._stopAsking();
    Signal.clearData(this);
  }

  private _request() {
    return requestOf(this._form!, this.fields, this.path, this.submitKey, this._parameters);
  }

  /** What is wrong with the notebook as such, the preview and the preflight say. */
  private async _loadParameters(): Promise<void> {
    this._parameters = await this.given.client.getParameters(this.path).catch(() => []);
    this._emit();
  }

  /** Ask for a preview, and for the preflight when what it depends on has changed, after a pause. */
  private _ask(delay: number): void {
    this._stopAsking();
    this._isPreviewing = this.problems.size + this.optionProblems.size === 0;
    if (!this._isPreviewing) {
      this._preview = null; // figures of other values than those that are shown would mislead
    }
    this._emit();
    if (this._isPreviewing) {
      this._timer = window.setTimeout(() => void this._askNow(), delay);
    }
  }

  private async _askNow(): Promise<void> {
    const asking = (this._asking = new AbortController());
    const request = this._request();
    const looked = { ...request, name: undefined, parameters: undefined, sweep: undefined };
    const subject = JSON.stringify(looked, Object.keys(looked).sort());
    if (subject !== this._checked) {
      void this._preflight(subject);
    }
    try {
      const preview = await this.given.client.preview(request, asking.signal);
      if (!asking.signal.aborted) {
        this._preview = preview;
        this._objection = null;
      }
    } catch (error) {
      if (!asking.signal.aborted) {
        this._preview = null;
        this._objection = refusalOf(error);
      }
    }
    if (!asking.signal.aborted) {
      this._isPreviewing = false;
      this._emit();
    }
  }

  private async _preflight(subject: string): Promise<void> {
    this._checked = subject;
    try {
      const findings = await this.given.client.preflight(this._request());
      if (this._checked === subject) {
        this._findings = findings;
        this._emit();
      }
    } catch {
      // What is wrong with the request as such, the preview says at its fields; ask again at the next change.
      this._checked = null;
    }
  }

  private _mended(field: string): void {
    this._refusal = withoutField(this._refusal, field);
    this._objection = withoutField(this._objection, field);
    this._ask(PREVIEW_DELAY);
  }

  private _stopAsking(): void {
    window.clearTimeout(this._timer);
    this._asking?.abort();
    this._isPreviewing = false;
  }

  private _emit(): void {
    this._changed.emit();
  }

  private readonly _changed = new Signal<this, void>(this);
  private _form: Form | null;
  private _site: Site | null = null;
  private _preview: Preview | null = null;
  private _isPreviewing = false;
  private _findings: readonly Finding[] | null = null;
  private _checked: string | null = null;
  /** Why the last submission failed. */
  private _refusal: Refusal | null = null;
  /** What the server has against what is chosen at present, or why it could not be asked. */
  private _objection: Refusal | null = null;
  private _parameters: readonly Parameter[] = [];
  private _leavingFor: Finding | null = null;
  private _isSubmitting = false;
  private _run: Run | null = null;
  private _rejections = 0;
  private _timer = 0;
  private _asking: AbortController | null = null;
}

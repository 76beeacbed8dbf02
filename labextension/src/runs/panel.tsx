import { ReactWidget } from '@jupyterlab/apputils';
import { refreshIcon } from '@jupyterlab/ui-components';
import type { IDisposable } from '@lumino/disposable';
import type { Message } from '@lumino/messaging';
import * as React from 'react';

import type { Run } from '../api/types';
import type { Words } from '../i18n/words';
import { runsIcon } from '../icons';
import { hasEnded } from '../model/states';
import type { IRunsModel } from '../tokens';
import { RunCard } from './card';
import type { CardAction } from './card';
import { Notices } from './notices';

/** How often the elapsed times are drawn anew, in milliseconds. */
const TICK = 5000;

export interface PanelOptions {
  model: IRunsModel;
  words: Words;
  onAction: (action: CardAction, run: Run) => void;
}

/** The Runs panel of the sidebar. It keeps the runs live only while it is shown. */
export class RunsPanel extends ReactWidget {
  constructor(private readonly options: PanelOptions) {
    super();
    const { trans } = options.words;
    this.id = 'siflab-runs';
    this.addClass('siflab-RunsPanel');
    this.node.dataset.siflab = 'runs-panel';
    this.node.setAttribute('role', 'region');
    this.node.setAttribute('aria-label', trans.__('Runs on Slurm'));
    this.title.icon = runsIcon;
    this.title.caption = trans.__('Runs on Slurm');
  }

  /** Bring a run into view and mark it. */
  highlight(id: string): void {
    this._highlighted = id;
    this.update();
    requestAnimationFrame(() => {
      this.node
        .querySelector(`[data-siflab-run="${CSS.escape(id)}"]`)
        ?.scrollIntoView({ block: 'nearest' });
    });
  }

  override render(): React.ReactElement {
    return <RunsView {...this.options} highlighted={this._highlighted} />;
  }

  override dispose(): void {
    this._watch?.dispose();
    super.dispose();
  }

  protected override onAfterShow(msg: Message): void {
    super.onAfterShow(msg);
    this._watch ??= this.options.model.watch();
  }

  protected override onAfterHide(msg: Message): void {
    super.onAfterHide(msg);
    this._watch?.dispose();
    this._watch = null;
  }

  protected override onActivateRequest(): void {
    this.node.tabIndex = -1;
    this.node.focus();
  }

  private _watch: IDisposable | null = null;
  private _highlighted: string | null = null;
}

export function RunsView(props: PanelOptions & { highlighted: string | null }): React.ReactElement {
  const { model, words, onAction, highlighted } = props;
  const { trans } = words;
  const [, redraw] = React.useReducer((count: number) => count + 1, 0);
  React.useEffect(() => {
    model.changed.connect(redraw);
    return () => {
      model.changed.disconnect(redraw);
    };
  }, [model]);
  const isMoving = model.runs.some(run => !hasEnded(run));
  const now = useClock(isMoving);
  // A card of a run that has ended rests: for it, it is always the moment in which the panel was opened.
  const [opened] = React.useState(now);
  return (
    <>
      <div className="siflab-RunsPanel-head">
        <h2>{trans.__('Runs')}</h2>
        <Liveness model={model} words={words} />
        <button
          type="button"
          className="siflab-Button siflab-mod-icon"
          data-siflab="runs-refresh"
          title={trans.__('Ask for all runs again')}
          aria-label={trans.__('Ask for all runs again')}
          onClick={() => void model.refresh()}
        >
          <refreshIcon.react tag="span" />
        </button>
      </div>
      <Notices model={model} words={words} />
      {model.isLoaded && model.runs.length === 0 && <Empty words={words} />}
      {!model.isLoaded && !model.failure && (
        <p className="siflab-Muted siflab-RunsPanel-loading">
          {trans.__('Asking the server for your runs…')}
        </p>
      )}
      <ul className="siflab-Runs" data-siflab="runs" aria-label={trans.__('Runs, newest first')}>
        {model.runs.map(run => (
          <RunCard
            key={run.id}
            run={run}
            words={words}
            now={hasEnded(run) ? opened : now}
            isHighlighted={run.id === highlighted}
            onAction={onAction}
          />
        ))}
      </ul>
    </>
  );
}

/** The present, drawn anew while something moves and the page is looked at. */
function useClock(isMoving: boolean): Date {
  const [now, setNow] = React.useState(() => new Date());
  React.useEffect(() => {
    if (!isMoving) {
      return;
    }
    setNow(new Date());
    const timer = window.setInterval(() => {
      if (!document.hidden) {
        setNow(new Date());
      }
    }, TICK);
    return () => window.clearInterval(timer);
  }, [isMoving]);
  return now;
}

function Liveness(props: { model: IRunsModel; words: Words }): React.ReactElement | null {
  const { trans } = props.words;
  const isLive = props.model.streamState === 'live';
  return (
    <span
      className="siflab-Liveness siflab-Muted"
      data-siflab="runs-live"
      data-siflab-stream={props.model.streamState}
    >
      {isLive ? trans.__('live') : ''}
    </span>
  );
}

function Empty(props: { words: Words }): React.ReactElement {
  const { trans } = props.words;
  return (
    <div className="siflab-Empty" data-siflab="runs-empty">
      <p>{trans.__('No runs yet.')}</p>
      <p>
        {trans.__(
          'Open a notebook and press "Promote" in its toolbar, or right-click a notebook in the file browser. It then runs as a Slurm batch job, also after you have closed JupyterLab, and appears here.'
        )}
      </p>
    </div>
  );
}

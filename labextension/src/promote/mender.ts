import type { NotebookPanel } from '@jupyterlab/notebook';

import type { Finding } from '../api/types';

/** What can be done with a finding in the open notebook. */
export interface Mender {
  /** Whether the fix is a change of this notebook that can be made now. */
  canMend(finding: Finding): boolean;
  /** Change the notebook as the fix says, and save it. Throws what saving throws. */
  mend(finding: Finding): Promise<void>;
  /** Show the line that the finding is about. */
  goTo(finding: Finding): void;
}

export class NotebookMender implements Mender {
  constructor(private readonly panel: NotebookPanel) {}

  canMend(finding: Finding): boolean {
    const { fix } = finding;
    if (!fix || this.panel.isDisposed || this.panel.context.model.readOnly) {
      return false;
    }
    return fix.kind === 'set-kernel' || (fix.kind !== 'set-field' && this._line(finding) !== null);
  }

  async mend(finding: Finding): Promise<void> {
    const { fix } = finding;
    const { context } = this.panel;
    if (fix?.kind === 'set-kernel') {
      // The file names another kernel; the one that runs is left alone.
      context.model.setMetadata('kernelspec', { name: fix.text, display_name: fix.text });
    } else if (fix) {
      const { lines, number, source } = this._line(finding)!;
      lines.splice(number, 1, ...(fix.kind === 'delete-line' ? [] : [fix.text]));
      source.setSource(lines.join('\n'));
    }
    await context.save();
  }

  goTo(finding: Finding): void {
    const notebook = this.panel.content;
    if (this.panel.isDisposed || typeof finding.cell !== 'number') {
      return;
    }
    notebook.deselectAll();
    notebook.activeCellIndex = finding.cell;
    const cell = notebook.activeCell;
    notebook.mode = 'edit';
    cell?.editor?.setCursorPosition({ line: (finding.line ?? 1) - 1, column: 0 });
    void notebook.scrollToItem(finding.cell);
    cell?.editor?.focus();
  }

  /** The finding's line as it is now; null when there is none any more. */
  private _line(finding: Finding) {
    const { cells } = this.panel.context.model;
    if (typeof finding.cell !== 'number' || !finding.line || finding.cell >= cells.length) {
      return null;
    }
    const source = cells.get(finding.cell).sharedModel;
    const lines = source.getSource().split('\n');
    const number = finding.line - 1;
    return number < lines.length ? { lines, number, source } : null;
  }
}

import type { IDocumentManager } from '@jupyterlab/docmanager';
import type { DocumentRegistry } from '@jupyterlab/docregistry';
import type { IFileBrowserFactory } from '@jupyterlab/filebrowser';
import type { INotebookTracker } from '@jupyterlab/notebook';
import type { ReadonlyPartialJSONObject } from '@lumino/coreutils';

/** What finds the notebook that a command means. The file browser is optional. */
export interface TargetSources {
  tracker: INotebookTracker;
  documents: IDocumentManager;
  browsers: IFileBrowserFactory | null;
}

/** A notebook to promote: its path for the contents API, and its document where it is open. */
export interface Target {
  path: string;
  context: DocumentRegistry.Context | null;
}

/**
 * The notebook that the command's arguments mean.
 *
 * - `widget`: the notebook panel of that id: a toolbar button means its own notebook, whatever else is current;
 * - `path`: that file;
 * - `from: "file-browser"`: the one notebook or Python script that is selected there;
 * - nothing: the current notebook.
 */
export function findTarget(args: ReadonlyPartialJSONObject, sources: TargetSources): Target | null {
  const { tracker, documents, browsers } = sources;
  if (typeof args.widget === 'string') {
    const panel = tracker.find(item => item.id === args.widget);
    return panel ? { path: panel.context.path, context: panel.context } : null;
  }
  let path: string | null = null;
  if (typeof args.path === 'string') {
    path = args.path;
  } else if (args.from === 'file-browser') {
    path = selectedNotebook(browsers);
  } else {
    const panel = tracker.currentWidget;
    return panel ? { path: panel.context.path, context: panel.context } : null;
  }
  if (path === null) {
    return null;
  }
  const widget = documents.findWidget(path, null);
  return { path, context: (widget && documents.contextForWidget(widget)) ?? null };
}

/** The path of the selected notebook or script; null when none or several files are selected. */
function selectedNotebook(browsers: IFileBrowserFactory | null): string | null {
  const items = Array.from(browsers?.tracker.currentWidget?.selectedItems() ?? []);
  const isOne = items.length === 1;
  const runs = isOne && (items[0].type === 'notebook' || items[0].path.endsWith('.py'));
  return runs ? items[0].path : null;
}

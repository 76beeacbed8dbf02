import type { ISessionContext } from '@jupyterlab/apputils';
import type { INotebookTracker } from '@jupyterlab/notebook';

import type { Client } from '../api/client';

/** What is asked of the server; a part of the client. */
export type SessionSource = Pick<Client, 'getSession'>;

/**
 * The open notebook's kernel, if it may hold a GPU for nothing: it computes nothing now, and the session has GPUs. What
 * it has put there stays, while the batch job may wait for a GPU. Null in all other cases, and where the server does
 * not say whether there are GPUs.
 */
export async function kernelWithGpu(
  path: string,
  tracker: INotebookTracker,
  source: SessionSource
): Promise<ISessionContext | null> {
  const context = tracker.find(panel => panel.context.path === path)?.sessionContext ?? null;
  if (context?.session?.kernel?.status !== 'idle') {
    return null;
  }
  try {
    const { gpus } = await source.getSession();
    return gpus ? context : null;
  } catch {
    return null;
  }
}

import type { INotebookTracker } from '@jupyterlab/notebook';
import { describe, expect, it, vi } from 'vitest';

import { kernelWithGpu } from '../../src/promote/kernel';

function tracked(path: string, status: string | null): INotebookTracker {
  const kernel = status === null ? null : { status };
  const panel = { context: { path }, sessionContext: { session: kernel && { kernel } } };
  return {
    find: (fits: (item: typeof panel) => boolean) => (fits(panel) ? panel : undefined)
  } as unknown as INotebookTracker;
}

describe('kernelWithGpu', () => {
  it.each([
    ['idle', 1, true],
    ['idle', 0, false],
    ['idle', undefined, false],
    ['busy', 1, false],
    ['starting', 1, false],
    ['dead', 1, false],
    [null, 1, false]
  ])(
    'a kernel that is %s, in a session with %s GPUs: offered %s',
    async (status, gpus, offered) => {
      const getSession = vi.fn().mockResolvedValue({ in_slurm: true, gpus });
      const found = await kernelWithGpu('a.ipynb', tracked('a.ipynb', status), { getSession });
      expect(found !== null).toBe(offered);
    }
  );

  it('is of the notebook that was promoted, not of another one', async () => {
    const getSession = vi.fn().mockResolvedValue({ in_slurm: true, gpus: 1 });
    expect(await kernelWithGpu('b.ipynb', tracked('a.ipynb', 'idle'), { getSession })).toBeNull();
    expect(getSession).not.toHaveBeenCalled();
  });

  it('offers nothing when the server does not answer', async () => {
    const getSession = vi.fn().mockRejectedValue(new Error('away'));
    expect(await kernelWithGpu('a.ipynb', tracked('a.ipynb', 'idle'), { getSession })).toBeNull();
  });
});

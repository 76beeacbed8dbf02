import type { NotebookPanel } from '@jupyterlab/notebook';
import { describe, expect, it, vi } from 'vitest';

import type { Finding } from '../../src/api/types';
import { NotebookMender } from '../../src/promote/mender';
import { text } from '../records';

type Kind = NonNullable<Finding['fix']>['kind'];

function setUp(...sources: string[]) {
  const cells = sources.map(source => ({
    sharedModel: {
      getSource: () => source,
      setSource: (changed: string) => {
        source = changed;
      }
    }
  }));
  const context = {
    model: {
      readOnly: false,
      cells: { length: cells.length, get: (index: number) => cells[index] },
      setMetadata: vi.fn()
    },
    save: vi.fn(() => Promise.resolve())
  };
  const panel = { isDisposed: false, context };
  return {
    context,
    mender: new NotebookMender(panel as unknown as NotebookPanel),
    sources: () => cells.map(cell => cell.sharedModel.getSource())
  };
}

function finding(kind: Kind, fixed: string, cell: number | null, line: number | null): Finding {
  return {
    code: 'x',
    severity: 'warning',
    message: text('x'),
    cell,
    line,
    fix: { kind, text: fixed, title: text('mend it') }
  };
}

describe('a mender', () => {
  it.each([
    ['replace-line', '# b', 'a\n# b\nc'],
    ['delete-line', '', 'a\nc']
  ] as const)('%s changes that line and saves', async (kind, fixed, expected) => {
    const { mender, sources, context } = setUp('first', 'a\nb\nc');
    const found = finding(kind, fixed, 1, 2);
    expect(mender.canMend(found)).toBe(true);
    await mender.mend(found);
    expect(sources()).toEqual(['first', expected]);
    expect(context.save).toHaveBeenCalledTimes(1);
  });

  it('names another kernel in the file', async () => {
    const { mender, context } = setUp('a');
    await mender.mend(finding('set-kernel', 'python3', null, null));
    expect(context.model.setMetadata).toHaveBeenCalledWith('kernelspec', {
      name: 'python3',
      display_name: 'python3'
    });
  });

  it.each([
    ['a field of the request', finding('set-field', '1', null, null)],
    ['a cell that is gone', finding('replace-line', 'x', 4, 1)],
    ['a line that is gone', finding('replace-line', 'x', 0, 9)],
    ['no line', finding('delete-line', '', 0, null)],
    ['no fix', { ...finding('delete-line', '', 0, 1), fix: null }]
  ])('does not offer to mend %s', (_, found) => {
    expect(setUp('a').mender.canMend(found)).toBe(false);
  });

  it('changes nothing that is read-only', () => {
    const { mender, context } = setUp('a');
    context.model.readOnly = true;
    expect(mender.canMend(finding('delete-line', '', 0, 1))).toBe(false);
  });
});

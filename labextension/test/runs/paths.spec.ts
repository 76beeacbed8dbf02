import { expect, it } from 'vitest';

import { contentsPath } from '../../src/runs/paths';

it.each([
  ['/workspace/alice/a.ipynb', '/workspace/alice', 'a.ipynb'],
  ['/workspace/alice/a/b.ipynb', '/workspace/alice/', 'a/b.ipynb'],
  ['/workspace/alice', '/workspace/alice', ''],
  ['/workspace/alicette/a.ipynb', '/workspace/alice', null],
  ['/scratch/a.ipynb', '/workspace/alice', null],
  ['/any/where.ipynb', '/', 'any/where.ipynb'],
  ['a/b.ipynb', '/workspace/alice', 'a/b.ipynb'],
  ['/workspace/alice/a.ipynb', null, null]
])('%j under %j is %j', (path, root, relative) => {
  expect(contentsPath(path, root)).toBe(relative);
});

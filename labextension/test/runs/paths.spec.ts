import { expect, it } from 'vitest';

import { contentsPath } from '../../src/runs/paths';

it.each([
  ['/workspace/user1/a.ipynb', '/workspace/user1', 'a.ipynb'],
  ['/workspace/user1/a/b.ipynb', '/workspace/user1/', 'a/b.ipynb'],
  ['/workspace/user1', '/workspace/user1', ''],
  ['/workspace/user1x/a.ipynb', '/workspace/user1', null],
  ['/scratch/a.ipynb', '/workspace/user1', null],
  ['/any/where.ipynb', '/', 'any/where.ipynb'],
  ['a/b.ipynb', '/workspace/user1', 'a/b.ipynb'],
  ['/workspace/user1/a.ipynb', null, null]
])('%j under %j is %j', (path, root, relative) => {
  expect(contentsPath(path, root)).toBe(relative);
});

/**
 * Paths of the server, absolute as the viewer sees them, and paths of Lab's contents API, relative to the server's root
 * folder.
 */

/** The contents API's path, or null when the file lies outside the folder that this Lab shows. */
export function contentsPath(path: string, root: string | null | undefined): string | null {
  if (!path.startsWith('/')) {
    return path;
  }
  if (!root) {
    return null;
  }
  const base = root.endsWith('/') ? root : `${root}/`;
  if (path === root || path === base) {
    return '';
  }
  return path.startsWith(base) ? path.slice(base.length) : null;
}

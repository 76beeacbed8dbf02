/** The version of the REST contract that this front end was built for: `info.version` of openapi.yaml. */
export const API_VERSION = '1';

/** The major number of a version such as `2` or `2.1`. */
export function major(version: string): string {
  return version.trim().split('.')[0];
}

/** Whether a server that speaks `version` is understood. */
export function isUnderstood(version: string): boolean {
  return major(version) === major(API_VERSION);
}

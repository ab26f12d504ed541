// Checks that a server has the extensions that a request needs, and explains a missing one. The reconciler checks before it plans, the
// provider before it sends. Pure.

export const hasExtension = (extensions: readonly string[], extension: string): boolean =>
  extensions.includes(extension);

export const unservedExtension = (extension: string): string => `it does not serve the API extension ${extension}`;

/** The reason for the missing extension, as a part of a sentence; undefined if the server has it. */
export const lackOfExtension = (extensions: readonly string[], extension: string): string | undefined =>
  hasExtension(extensions, extension) ? undefined : `it does not know the API extension ${extension}`;

export const lackOfCluster = (isClustered: boolean): string | undefined =>
  isClustered ? undefined : 'it is not a member of a cluster';

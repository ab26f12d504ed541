// What a server must be able to do before something is asked of it, and the words when it is not: shared by the reconciler, which looks
// before it plans, and the provider, which looks before it sends. Pure.

export const hasExtension = (extensions: readonly string[], extension: string): boolean =>
  extensions.includes(extension);

/** It counts the extension among its own and answers its requests with 501. */
export const unservedExtension = (extension: string): string => `it does not serve the API extension ${extension}`;

/** Why it lacks the extension, as a part of a sentence; undefined when it has it. */
export const lackOfExtension = (extensions: readonly string[], extension: string): string | undefined =>
  hasExtension(extensions, extension) ? undefined : `it does not know the API extension ${extension}`;

export const lackOfCluster = (isClustered: boolean): string | undefined =>
  isClustered ? undefined : 'it is not a member of a cluster';

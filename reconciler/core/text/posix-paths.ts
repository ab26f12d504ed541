// Paths inside containers, which are POSIX paths on every host that runs gantry. Works on texts, without a file system.

const parentOf = (path: string): string => path.slice(0, Math.max(1, path.lastIndexOf('/')));

export const posix = {
  parentOf,
  /** True for the path itself and for every path below it. */
  isWithin: (path: string, directory: string): boolean =>
    path === directory || path.startsWith(directory.endsWith('/') ? directory : `${directory}/`),
  /** Absolute, without `.`, `..`, empty parts and a trailing slash; not the root. */
  isPlain: (path: string): boolean =>
    /^(\/[^/]+)+$/.test(path) && !path.includes('\0') && !path.split('/').some((step) => step === '.' || step === '..'),
  /** The target of a link as an absolute path; the file system is not consulted. */
  resolve: (from: string, target: string): string => {
    const steps = target.startsWith('/') ? [] : parentOf(from).split('/');
    for (const step of target.split('/')) {
      if (step === '..') steps.pop();
      else if (step !== '' && step !== '.') steps.push(step);
    }
    return `/${steps.filter((step) => step !== '').join('/')}`;
  },
} as const;

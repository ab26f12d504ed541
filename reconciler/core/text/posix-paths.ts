// Paths inside containers, which are POSIX paths wherever gantry runs. Texts only, no file system.

const parentOf = (path: string): string => path.slice(0, Math.max(1, path.lastIndexOf('/')));

export const posix = {
  parentOf,
  /** The path itself, or something below it. */
  isWithin: (path: string, directory: string): boolean =>
    path === directory || path.startsWith(directory.endsWith('/') ? directory : `${directory}/`),
  /** Absolute, without `.`, `..`, empty steps and a slash at the end; not the root. */
  isPlain: (path: string): boolean =>
    /^(\/[^/]+)+$/.test(path) && !path.includes('\0') && !path.split('/').some((step) => step === '.' || step === '..'),
  /** Where a relative link points; not looked up. */
  resolve: (from: string, target: string): string => {
    const steps = target.startsWith('/') ? [] : parentOf(from).split('/');
    for (const step of target.split('/')) {
      if (step === '..') steps.pop();
      else if (step !== '' && step !== '.') steps.push(step);
    }
    return `/${steps.filter((step) => step !== '').join('/')}`;
  },
} as const;

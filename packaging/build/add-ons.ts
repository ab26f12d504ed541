// Modules that the bundle loads from beside it: their files without those that only build them.
import { folderEntries, type Entry } from './tree.ts';

const koffi = 'node_modules/koffi';
const koffiHere = 'node_modules/@koromix/koffi-linux-x64';

export const addOns = (): readonly (readonly [string, Entry])[] => [
  ...folderEntries(koffi, koffi, (path) => /^(?:package\.json|LICENSE\.txt|in[\w.]*\.c?js|src\/.*\.c?js)$/.test(path)),
  // The other one is for a C library that Debian does not have.
  ...folderEntries(koffiHere, koffiHere, (path) => !path.startsWith('musl')),
];

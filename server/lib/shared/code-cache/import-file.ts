// Imports a module that is not part of the program.

/** A parameter of the function around a program in one file: code that V8 takes from its cache cannot import. */
declare const __import: ((url: string) => Promise<unknown>) | undefined;

export const importFile = (url: string): Promise<unknown> =>
  typeof __import === 'undefined' ? import(url) : __import(url);

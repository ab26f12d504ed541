// Makes a switch over a union exhaustive at compile time; reaching it at run time is a programming error.

export function assertNever(value: never): never {
  throw new Error(`unreachable case: ${JSON.stringify(value)}`);
}

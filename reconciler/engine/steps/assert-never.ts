// Makes a switch over a union exhaustive at compile time; the daemon's own copy is out of this room's reach.

export function assertNever(value: never): never {
  throw new Error(`unreachable case: ${JSON.stringify(value)}`);
}

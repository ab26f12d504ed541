// A limit of bytes that may come. Pure.

/** Throws when that many bytes do not fit. */
export type Room = (bytes: number) => void;

/** Counts what comes in pieces, of any number of files. */
export function counted(room: Room): (bytes: number) => void {
  let sum = 0;
  return (bytes) => {
    sum += bytes;
    room(sum);
  };
}

// A limit on incoming bytes. Pure.

/** Throws if that many bytes do not fit. */
export type Room = (bytes: number) => void;

/** Counts bytes that arrive in pieces, of any number of files. */
export function counted(room: Room): (bytes: number) => void {
  let sum = 0;
  return (bytes) => {
    sum += bytes;
    room(sum);
  };
}

// A client that writes one kind of object until it is stopped, and afterwards checks that acknowledged ones exist.
import type { Random } from '../../support/random.ts';

export interface Server {
  readonly socketPath: string;
  /** A file on the disk that loses its power. */
  readonly stateDir: string;
}

export interface Written {
  /** Such as `profile p3`. */
  readonly what: string;
  /** The loss or damage on this server; undefined if the object is as acknowledged, or newer. */
  check(server: Server): Promise<string | undefined>;
}

export interface Writer {
  /** The written objects, in the plural. */
  readonly kind: string;
  /** Writes one object; resolves once the server has acknowledged it. `serial` is never used twice. */
  write(server: Server, serial: number, random: Random): Promise<Written>;
}

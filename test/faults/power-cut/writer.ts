// A client that writes one kind of object until it is told to stop, and afterwards knows what must be there.
import type { Random } from '../../support/random.ts';

export interface Server {
  readonly socketPath: string;
  /** On the disk that loses its power. */
  readonly stateDir: string;
}

export interface Written {
  /** Such as `profile p3`. */
  readonly what: string;
  /** Why it is lost or damaged on this server; undefined when it is as it was acknowledged, or newer. */
  check(server: Server): Promise<string | undefined>;
}

export interface Writer {
  /** What it writes, in the plural. */
  readonly kind: string;
  /** Writes one object; resolves once the server has acknowledged it. `serial` is never used twice. */
  write(server: Server, serial: number, random: Random): Promise<Written>;
}

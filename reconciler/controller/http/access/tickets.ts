// One-time tickets with which `gantry ui` logs a browser in.
import { randomBytes } from 'node:crypto';
import type { Role } from '../../contract/index.ts';

export interface TicketUser {
  readonly name: string;
  readonly role: Role;
}

const lifeMs = 10 * 60_000;

export class Tickets {
  readonly #nowMs: () => number;
  readonly #tickets = new Map<string, { readonly user: TicketUser; readonly endsAtMs: number }>();

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  issue(user: TicketUser): string {
    const ticket = randomBytes(32).toString('base64url');
    this.#tickets.set(ticket, { user, endsAtMs: this.#nowMs() + lifeMs });
    return ticket;
  }

  /** Undefined: unknown, used, or expired. */
  use(ticket: string): TicketUser | undefined {
    const found = this.#tickets.get(ticket);
    this.#tickets.delete(ticket);
    return found === undefined || found.endsAtMs <= this.#nowMs() ? undefined : found.user;
  }
}

// Renews leases over one stream that stays open: a stream per renewal causes most of an idle member's load.
import { storeErrors } from '../store-errors.ts';
import { EtcdFailure, failureOf } from './failure.ts';
import type { EtcdLink } from './link.ts';
import type { Stream } from './member.ts';

interface Question {
  readonly answered: (seconds: number) => void;
  readonly failed: (error: unknown) => void;
}

interface Channel {
  readonly stream: Stream<'LeaseKeepAlive'>;
  readonly endpoint: string;
  /** The pending renewals of each lease, oldest first. */
  readonly waiting: Map<string, Question[]>;
}

export class KeepAlive {
  readonly #link: EtcdLink;
  #channel: Promise<Channel> | undefined;

  constructor(link: EtcdLink) {
    this.#link = link;
  }

  /** The time left in seconds, 0 if the lease has ended. Throws EtcdFailure; the next call then uses another stream. */
  async renew(id: string): Promise<number> {
    let endpoint = this.#link.endpoint;
    const opened = (this.#channel ??= this.#open());
    try {
      const channel = await opened;
      endpoint = channel.endpoint;
      return await this.#ask(channel, id);
    } catch (error) {
      if (this.#channel === opened) this.close();
      if (this.#link.isClosed) throw storeErrors.closed();
      const failure = error instanceof EtcdFailure ? error : failureOf(error, endpoint);
      this.#link.giveUp(failure, endpoint);
      throw failure;
    }
  }

  /** Ends the stream; pending renewals get an error. */
  close(): void {
    const closing = this.#channel;
    this.#channel = undefined;
    void closing?.then(
      ({ stream }) => stream.cancel(),
      () => {},
    );
  }

  async #open(): Promise<Channel> {
    const endpoint = this.#link.endpoint;
    const stream = await this.#link.open('LeaseKeepAlive');
    const waiting: Channel['waiting'] = new Map();
    const opened = this.#channel;
    const end = (error: unknown): void => {
      if (this.#channel === opened) this.#channel = undefined;
      for (const questions of waiting.values()) for (const { failed } of questions) failed(error);
      waiting.clear();
    };
    stream.on('data', ({ ID, TTL }: { readonly ID: string; readonly TTL: string }) =>
      waiting.get(ID)?.shift()?.answered(Number(TTL)),
    );
    stream.on('error', end);
    stream.on('close', () => end(new Error('the stream of renewals has ended')));
    return { stream, endpoint, waiting };
  }

  async #ask({ stream, endpoint, waiting }: Channel, id: string): Promise<number> {
    let late: NodeJS.Timeout | undefined;
    try {
      return await new Promise<number>((answered, failed) => {
        const questions = waiting.get(id);
        if (questions === undefined) waiting.set(id, [{ answered, failed }]);
        else questions.push({ answered, failed });
        late = setTimeout(
          () => failed(new EtcdFailure('unreachable', 'Unavailable', `etcd at ${endpoint} did not answer in time`)),
          this.#link.attemptMs,
        );
        stream.write({ ID: id });
      });
    } finally {
      clearTimeout(late);
      if (waiting.get(id)?.length === 0) waiting.delete(id);
    }
  }
}

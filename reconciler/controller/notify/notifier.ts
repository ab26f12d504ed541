// Sends notices without blocking a set: one queue per notification, retries with backoff, a limit of messages per minute.
import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { pause, withLimit } from '../../../server/lib/shared/deadline.ts';
import { reasonOf } from '../../../server/lib/shared/reason.ts';
import { starPattern } from '../../core/text/star-pattern.ts';
import { durationMs } from '../../../server/api/text/durations.ts';
import { withoutTexts } from '../sources/git/explain-git.ts';
import type { Delivery, Notice, Notifier } from './notice.ts';
import { noticeKinds, type NotificationEntry } from './notify-schema.ts';
import { mailOf, outgoingOf, type Outgoing, type ReceiverContext } from './receivers.ts';
import { sendMail, SmtpError, type Mail } from './smtp.ts';
import { withoutUndefined } from '../../../server/lib/shared/without-undefined.ts';

export interface NotifierOptions extends ReceiverContext {
  readonly entries: readonly NotificationEntry[];
  readonly onDelivery: (delivery: Delivery) => void;
  /** From 0 to 1, for the pauses between attempts. */
  readonly random: () => number;
  readonly firstPauseMs?: number;
  readonly perMinute?: number;
}

const maxQueue = 100;
const sameNewsMs = 10 * 60_000;
const attempts = 5;
const longestPauseMs = 60_000;
const timeoutMs = 15_000;
const maxAnswer = 64 * 1024;

export function createNotifier(options: NotifierOptions): Notifier {
  const stop = new AbortController();
  const queues = options.entries.map((entry) => new Queue(entry, options, stop.signal));
  return {
    notify(notice, names) {
      for (const queue of queues) {
        if (names === undefined || names.includes(queue.name) || queue.isAbout(notice.set)) queue.add(notice);
      }
    },
    async close(limitMs) {
      const done = Promise.all(queues.map((queue) => queue.idle()));
      const limit = pause(limitMs, stop.signal).catch(() => undefined);
      await Promise.race([done, limit]);
      stop.abort(new Error('the controller stops'));
      await done;
    },
  };
}

class Queue {
  readonly name: string;
  readonly #entry: NotificationEntry;
  readonly #options: NotifierOptions;
  readonly #signal: AbortSignal;
  readonly #waiting: Notice[] = [];
  #sentAt: number[] = [];
  /** The last notice of each set. */
  readonly #last = new Map<string, { readonly news: string; readonly atMs: number; readonly notice: Notice }>();
  #work: Promise<void> | undefined;

  constructor(entry: NotificationEntry, options: NotifierOptions, signal: AbortSignal) {
    this.name = entry.name;
    this.#entry = entry;
    this.#options = options;
    this.#signal = signal;
  }

  /** Its own rule names the set. */
  isAbout(set: string): boolean {
    return (this.#entry.sets ?? []).some((pattern) => starPattern(pattern).test(set));
  }

  add(notice: Notice): void {
    if (this.#signal.aborted || !(this.#entry.on ?? noticeKinds).includes(notice.kind)) return;
    // Repeats an equal failure of a set only after some time.
    const same = JSON.stringify([
      notice.kind,
      notice.set,
      notice.hosts,
      notice.revision,
      notice.message,
      notice.objects,
    ]);
    const nowMs = this.#options.nowMs();
    const last = this.#last.get(notice.set);
    // A clock that was set back prolongs no pause.
    if (same === last?.news && Math.abs(nowMs - last.atMs) < this.#repeatMs) return;
    this.#last.set(notice.set, { news: same, atMs: nowMs, notice });
    this.#waiting.push(notice);
    const dropped = this.#waiting.length > maxQueue ? this.#waiting.shift() : undefined;
    if (dropped !== undefined) this.#report(dropped, 'dropped', 0, `more than ${maxQueue} notices wait`);
    this.#work ??= this.#sendAll();
  }

  get #repeatMs(): number {
    const { repeat } = this.#entry;
    return repeat === 'never' ? Infinity : (durationMs(repeat ?? '') ?? sameNewsMs);
  }

  async idle(): Promise<void> {
    while (this.#work !== undefined) await this.#work;
  }

  async #sendAll(): Promise<void> {
    for (let notice = this.#waiting.shift(); notice !== undefined; notice = this.#waiting.shift()) {
      try {
        await this.#turn();
        await this.#send(notice);
      } catch (error) {
        this.#report(notice, this.#signal.aborted ? 'dropped' : 'failed', 0, reasonOf(error));
      }
    }
    // Not in a callback of this promise: a notice that came before it would wait for the next one.
    this.#work = undefined;
  }

  /** Waits until the limit of messages per minute allows another. */
  async #turn(): Promise<void> {
    const { nowMs, perMinute = 20 } = this.#options;
    this.#sentAt = this.#sentAt.filter((at) => Math.abs(nowMs() - at) < 60_000);
    const [oldest] = this.#sentAt;
    if (oldest !== undefined && this.#sentAt.length >= perMinute)
      await pause(Math.max(0, oldest + 60_000 - nowMs()), this.#signal);
    this.#sentAt.push(nowMs());
  }

  async #send(notice: Notice): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      // Rebuilt for each attempt: a signature has a time, and secret files may have changed.
      const sending = await this.#sendingOf(notice);
      if (sending === undefined) return;
      const answer = await sending
        .send()
        .catch((error: unknown) => ({ status: 0, retryAfter: undefined, text: reasonOf(error) }));
      this.#signal.throwIfAborted();
      if (answer.status >= 200 && answer.status < 300) {
        this.#report(notice, 'sent', attempt);
        return;
      }
      const isFinal = answer.status !== 0 && answer.status !== 408 && answer.status !== 429 && answer.status < 500;
      if (isFinal || attempt === attempts) {
        const said = withoutTexts(answer.text, sending.secrets).slice(0, 300);
        const what =
          answer.status === 0 ? `${sending.host} cannot be reached` : `${sending.host} answered ${answer.status}`;
        this.#report(notice, 'failed', attempt, `${what}: ${said}`);
        return;
      }
      await pause(this.#pauseMs(attempt, answer.retryAfter), this.#signal);
    }
  }

  async #sendingOf(notice: Notice): Promise<Sending | undefined> {
    const entry = this.#entry;
    const { email } = entry;
    if (email !== undefined) {
      const mail = await mailOf({ ...entry, email }, notice, this.#options);
      const secrets = mail.login === undefined ? [] : [mail.login.password];
      return { host: mail.url.host, secrets, send: () => mailed(mail, this.#signal) };
    }
    const outgoing = await outgoingOf(entry, notice, this.#options);
    if (outgoing === undefined) return undefined;
    const { url, secrets } = outgoing;
    return { host: url.host, secrets, send: () => exchange(outgoing, this.#signal) };
  }

  #pauseMs(attempt: number, retryAfter: string | undefined): number {
    const { firstPauseMs = 1000, random } = this.#options;
    const wanted = /^[0-9]{1,5}$/.test(retryAfter ?? '') ? Number(retryAfter) * 1000 : 0;
    const grown = firstPauseMs * 4 ** (attempt - 1) * (0.5 + random());
    return Math.min(longestPauseMs, Math.max(grown, wanted));
  }

  #report(notice: Notice, outcome: Delivery['outcome'], tried: number, message?: string): void {
    // News that nobody received is no repetition when it comes again.
    if (outcome !== 'sent' && this.#last.get(notice.set)?.notice === notice) this.#last.delete(notice.set);
    const base = { notification: this.name, kind: notice.kind, set: notice.set, outcome, attempts: tried };
    this.#options.onDelivery(message === undefined ? base : { ...base, message });
  }
}

interface Sending {
  readonly host: string;
  /** Texts that messages must not quote. */
  readonly secrets: readonly string[];
  readonly send: () => Promise<Answer>;
}

/** Treats SMTP codes like HTTP: a 4xx is worth a retry, a 5xx is final. */
async function mailed(mail: Mail, signal: AbortSignal): Promise<Answer> {
  try {
    await sendMail(mail, withLimit(signal, timeoutMs));
    return { status: 250, retryAfter: undefined, text: '' };
  } catch (error) {
    if (!(error instanceof SmtpError)) throw error;
    return { status: error.code < 500 ? 503 : 400, retryAfter: undefined, text: error.message };
  }
}

interface Answer {
  readonly status: number;
  readonly retryAfter: string | undefined;
  readonly text: string;
}

/** Sends one request. Refuses redirects, which would send the message and its token elsewhere. */
function exchange(outgoing: Outgoing, signal: AbortSignal): Promise<Answer> {
  const { url, method, headers, body, ca } = outgoing;
  const send = url.protocol === 'https:' ? httpsRequest : httpRequest;
  return new Promise((resolve, reject) => {
    const limited = withLimit(signal, timeoutMs);
    const request = send(
      url,
      {
        method,
        headers: { ...headers, 'content-length': Buffer.byteLength(body) },
        signal: limited,
        ...withoutUndefined({ ca }),
      },
      (response) => {
        let text = '';
        response.on('data', (chunk: Buffer) => {
          if (text.length < maxAnswer) text += chunk.toString('utf8');
          else response.destroy();
        });
        response.on('error', reject);
        response.on('close', () =>
          resolve({ status: response.statusCode ?? 0, retryAfter: response.headers['retry-after'], text }),
        );
      },
    );
    request.on('error', reject);
    request.end(body);
  });
}

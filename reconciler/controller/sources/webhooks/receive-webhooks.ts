// Receives webhooks for sources: verifies them, drops repeated ones, throttles forgers, and coalesces many requests into few checks.
import { networkOf } from '../../../../server/lib/shared/attempts.ts';
import { readSecret } from '../files/secret.ts';
import type { WebhookSettings } from '../source-schema.ts';
import { verifyWebhook, type Headers } from './verify-webhook.ts';

export interface WebhookRequest {
  readonly source: string;
  /** Names in lower case. */
  readonly headers: Headers;
  /** The raw bytes, which the signature covers. */
  readonly body: Buffer;
  readonly address: string;
}

export interface WebhookAnswer {
  readonly status: 202 | 400 | 401 | 403 | 404 | 429;
  readonly message: string;
}

export type ReceiveWebhook = (request: WebhookRequest) => WebhookAnswer | Promise<WebhookAnswer>;

export interface WebhookDeps {
  /** The webhook of a source, as the configuration has it now. */
  readonly settingsOf: (source: string) => WebhookSettings | undefined;
  readonly absolute: (path: string) => string;
  readonly nowMs: () => number;
  /** Called at once for the first request, then at most once a second; the last request is never lost. */
  readonly lookAt: (source: string) => void;
  readonly warn?: (message: string) => void;
}

const maxForged = 10;
const forgedWindowMs = 60_000;
const rememberedMs = 60 * 60_000;
const maxRemembered = 10_000;
const restMs = 1000;

export interface WebhookReceiver {
  receive(request: WebhookRequest): Promise<WebhookAnswer>;
  close(): void;
}

export function createWebhookReceiver(deps: WebhookDeps): WebhookReceiver {
  const forged = new Expiring<number>(forgedWindowMs);
  const seen = new Expiring<true>(rememberedMs);
  const looks = new Looks(deps.lookAt);

  const verified = async (request: WebhookRequest, webhook: WebhookSettings): Promise<WebhookAnswer> => {
    const nowMs = deps.nowMs();
    const sender = `${request.source} ${networkOf(request.address)}`;
    const failures = forged.get(sender, nowMs) ?? 0;
    let secret: string;
    try {
      secret = await readSecret(`sources: ${request.source}: webhook.secretFile`, deps.absolute(webhook.secretFile));
    } catch (error) {
      deps.warn?.((error as Error).message);
      return {
        status: 403,
        message: 'the secret of this webhook cannot be read here; the log of the controller says why',
      };
    }
    const { headers, body } = request;
    const verdict = verifyWebhook({ provider: webhook.provider, secret, headers, body, nowMs });
    // A correct signature always passes, so that forgers cannot lock out others behind their address.
    if (!verdict.isValid) {
      if (failures >= maxForged)
        return { status: 429, message: 'too many requests without a valid signature; wait a minute' };
      forged.set(sender, failures + 1, nowMs);
      return { status: 401, message: verdict.why };
    }
    if (verdict.isTest) return { status: 202, message: 'the signature is valid' };
    const mark = `${request.source} ${verdict.mark}`;
    if (seen.get(mark, nowMs) !== undefined) return { status: 202, message: 'this request was received before' };
    seen.set(mark, true, nowMs);
    looks.due(request.source);
    return { status: 202, message: 'the source is read' };
  };
  return {
    async receive(request) {
      const webhook = deps.settingsOf(request.source);
      if (webhook === undefined) return { status: 404, message: 'no source of this name has a webhook' };
      return verified(request, webhook);
    },
    close: () => looks.close(),
  };
}

/** A bounded map whose entries expire; the oldest go first. */
class Expiring<T> {
  readonly #values = new Map<string, { readonly value: T; readonly until: number }>();
  readonly #ttlMs: number;

  constructor(ttlMs: number) {
    this.#ttlMs = ttlMs;
  }

  get(key: string, nowMs: number): T | undefined {
    const found = this.#values.get(key);
    return found === undefined || found.until <= nowMs ? undefined : found.value;
  }

  set(key: string, value: T, nowMs: number): void {
    this.#values.delete(key);
    this.#values.set(key, { value, until: nowMs + this.#ttlMs });
    for (const [oldest, { until }] of this.#values) {
      if (this.#values.size <= maxRemembered && until > nowMs) break;
      this.#values.delete(oldest);
    }
  }
}

class Looks {
  readonly #lookAt: (source: string) => void;
  readonly #resting = new Map<string, { timer: NodeJS.Timeout; isDue: boolean }>();

  constructor(lookAt: (source: string) => void) {
    this.#lookAt = lookAt;
  }

  due(source: string): void {
    const resting = this.#resting.get(source);
    if (resting === undefined) this.#look(source);
    else resting.isDue = true;
  }

  #look(source: string): void {
    const timer = setTimeout(() => {
      const isDue = this.#resting.get(source)?.isDue === true;
      this.#resting.delete(source);
      if (isDue) this.#look(source);
    }, restMs);
    timer.unref();
    this.#resting.set(source, { timer, isDue: false });
    this.#lookAt(source);
  }

  close(): void {
    for (const { timer } of this.#resting.values()) clearTimeout(timer);
    this.#resting.clear();
  }
}

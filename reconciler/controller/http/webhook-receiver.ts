// The contract between the route of webhooks and its receiver: the request, and the answer.

export interface WebhookRequest {
  readonly source: string;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** The raw bytes, which the signature covers. */
  readonly body: Buffer;
  readonly address: string;
}

export interface WebhookAnswer {
  readonly status: 202 | 400 | 401 | 403 | 404 | 413 | 429;
  readonly message: string;
}

export type WebhookReceiver = (request: WebhookRequest) => WebhookAnswer | Promise<WebhookAnswer>;

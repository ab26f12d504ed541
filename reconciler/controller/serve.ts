// Puts the HTTP API and the webhooks of sources in front of a running engine.
import { resolve } from 'node:path';
import type { ControllerConfig } from './config/config.ts';
import type { Controller } from './controller.ts';
import { listen, type HttpListener } from './http/listener.ts';
import type { Hub } from './hub.ts';
import { createWebhookReceiver } from './sources/webhooks/receive-webhooks.ts';

/** Rejects when the address, a certificate or a token file cannot be used. */
export async function listenFor(
  config: ControllerConfig,
  controller: Controller,
  hub: Hub,
  pageDirectory: string,
): Promise<HttpListener> {
  const { listen: address = '', tls, auth, anonymous, url } = config;
  const receiver = createWebhookReceiver({
    entries: config.sources,
    absolute: (path) => resolve(config.folder, path),
    nowMs: Date.now,
    lookAt: (source) => void controller.lookAt(source),
    warn: (message) => hub.log('warn', message),
  });
  const listener = await listen({
    controller,
    webhooks: (request) => receiver.receive(request),
    settings: {
      listen: address,
      console: config.console,
      ...(tls === undefined ? {} : { tls }),
      ...(auth === undefined ? {} : { auth }),
      ...(anonymous === undefined ? {} : { anonymous }),
      ...(url === undefined ? {} : { url }),
    },
    log: hub.httpLog,
    pageDirectory,
  });
  return {
    ...listener,
    close: async () => {
      receiver.close();
      await listener.close();
    },
  };
}

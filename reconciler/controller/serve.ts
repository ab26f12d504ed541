// Puts the HTTP API and the webhooks of sources in front of a running engine.
import { join, resolve } from 'node:path';
import { AuditLog } from './audit/audit-log.ts';
import type { ControllerConfig } from './config/config.ts';
import type { Controller } from './controller.ts';
import { listen, type AccessSettings, type HttpListener } from './http/listener.ts';
import type { Hub } from './hub.ts';
import { createWebhookReceiver } from './sources/webhooks/receive-webhooks.ts';
import { withoutUndefined } from '../../server/lib/shared/without-undefined.ts';

export interface Api extends Omit<HttpListener, 'prepare'> {
  /** Checks new logins, rights and webhooks; the returned function activates them. */
  prepare(config: ControllerConfig): Promise<() => void>;
}

/** Rejects when the address, a certificate or a token file cannot be used. */
export async function listenFor(
  config: ControllerConfig,
  controller: Controller,
  hub: Hub,
  pageDirectory: string,
): Promise<Api> {
  const { listen: address = '', tls, url } = config;
  let { sources } = config;
  // It outlives reloads: it knows which requests it has seen, and which sources are due for another look.
  const receiver = createWebhookReceiver({
    settingsOf: (source) => sources.find(({ name }) => name === source)?.webhook,
    absolute: (path) => resolve(config.folder, path),
    nowMs: Date.now,
    lookAt: (source) => void controller.lookAt(source),
    warn: (message) => hub.log('warn', message),
  });
  const audit = new AuditLog(join(config.stateDir, 'audit.jsonl'), Date.now);
  const listener = await listen({
    controller,
    webhooks: (request) => receiver.receive(request),
    settings: {
      ...accessOf(config),
      listen: address,
      ...withoutUndefined({ tls, url }),
    },
    log: hub.httpLog,
    audit,
    pageDirectory,
  });
  return {
    ...listener,
    prepare: async (next) => {
      const take = await listener.prepare(accessOf(next));
      return () => {
        ({ sources } = next);
        take();
      };
    },
    close: async () => {
      receiver.close();
      await listener.close();
      await audit.close();
    },
  };
}

const accessOf = ({ auth, anonymous, console, trustedProxies }: ControllerConfig): AccessSettings => ({
  console,
  trustedProxies,
  ...withoutUndefined({ auth, anonymous }),
});

// Puts the HTTP API in front of a running engine.
import type { ControllerConfig } from './config/config.ts';
import type { Controller } from './controller.ts';
import { listen, type HttpListener } from './http/listener.ts';
import type { Hub } from './hub.ts';

/** Rejects when the address, a certificate or a token file cannot be used. */
export function listenFor(
  config: ControllerConfig,
  controller: Controller,
  hub: Hub,
  pageDirectory: string,
): Promise<HttpListener> {
  const { listen: address = '', tls, auth, anonymous, url } = config;
  return listen({
    controller,
    settings: {
      listen: address,
      console: config.console,
      ...(tls === undefined ? {} : { tls }),
      ...(auth === undefined ? {} : { auth }),
      ...(anonymous === undefined ? {} : { anonymous }),
      ...(url === undefined ? {} : { url }),
    },
    log: {
      debug: (message) => hub.log('debug', message),
      info: (message) => hub.log('info', message),
      warn: (message) => hub.log('warn', message),
      error: (message) => hub.log('error', message),
    },
    pageDirectory,
  });
}

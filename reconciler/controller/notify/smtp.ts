// Sends one message over SMTP: TLS from the start (smtps) or after STARTTLS, a login, one message to several people. A server in clear text is
// refused unless it is on this machine. No library: a message without attachments needs no more of the protocol than this.
import { connect as connectPlain, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';

export interface Mail {
  readonly url: URL;
  readonly login?: { readonly user: string; readonly password: string };
  readonly ca?: string;
  readonly from: string;
  readonly to: readonly string[];
  /** Headers and body, with CRLF line ends. */
  readonly text: string;
}

/** The server refused a command: with 4xx a later attempt may help. */
export class SmtpError extends Error {
  override readonly name = 'SmtpError';
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

const maxReply = 16 * 1024;

export async function sendMail(mail: Mail, signal: AbortSignal): Promise<void> {
  const { url, login, ca, from, to, text } = mail;
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const isTls = url.protocol === 'smtps:';
  const port = url.port === '' ? (isTls ? 465 : 587) : Number(url.port);
  const tls = { host, port, servername: /^[\d.:]+$/.test(host) ? '' : host, ...(ca === undefined ? {} : { ca }) };
  const sockets: Socket[] = [isTls ? connectTls(tls) : connectPlain({ host, port })];
  const stop = (): void => sockets.forEach((socket) => socket.destroy(signal.reason as Error));
  signal.addEventListener('abort', stop, { once: true });
  try {
    let session = new Session(sockets[0] as Socket);
    await session.expect(220);
    let offers = await session.command('EHLO gantry', 250);
    if (!isTls && /^STARTTLS$/im.test(offers)) {
      await session.command('STARTTLS', 220);
      const secure = connectTls({ ...tls, socket: session.release() });
      sockets.push(secure);
      session = new Session(secure);
      offers = await session.command('EHLO gantry', 250);
    } else if (!isTls && !isLocal(host))
      throw new SmtpError(530, `${host} offers no STARTTLS: the message would go in clear text; use smtps://`);
    if (login !== undefined) {
      const token = Buffer.from(`\0${login.user}\0${login.password}`).toString('base64');
      await session.command(`AUTH PLAIN ${token}`, 235, 'AUTH PLAIN');
    }
    await session.command(`MAIL FROM:<${from}>`, 250);
    for (const one of to) await session.command(`RCPT TO:<${one}>`, 250);
    await session.command('DATA', 354);
    await session.command(`${text.replaceAll(/^\./gm, '..')}\r\n.`, 250, 'the message');
    // It is sent: whatever follows changes nothing.
    await session.command('QUIT', 221).catch(() => undefined);
  } finally {
    signal.removeEventListener('abort', stop);
    for (const socket of sockets) socket.destroy();
  }
}

const isLocal = (host: string): boolean => host === 'localhost' || host.startsWith('127.') || host === '::1';

class Session {
  readonly #socket: Socket;
  #text = '';
  #failed: Error | undefined;
  #wake = (): void => {};
  readonly #onData = (chunk: Buffer): void => {
    this.#text += chunk.toString('latin1');
    if (this.#text.length > maxReply) this.#fail(new Error('its answer is too long'));
    this.#wake();
  };

  constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('data', this.#onData);
    socket.on('error', (error) => this.#fail(error));
    socket.on('close', () => this.#fail(new Error('it closed the connection')));
  }

  /** For TLS on the same connection. What came in clear text before is ignored. */
  release(): Socket {
    this.#socket.off('data', this.#onData);
    return this.#socket;
  }

  /** `shown`: instead of a command that holds a secret. */
  async command(line: string, code: number, shown = line): Promise<string> {
    this.#text = '';
    this.#socket.write(`${line}\r\n`);
    return this.expect(code, shown);
  }

  async expect(code: number, after = 'the connection'): Promise<string> {
    for (;;) {
      const reply = /^(?:\d{3}-.*\r?\n)*(\d{3})(?: .*)?\r?\n/.exec(this.#text);
      if (reply !== null) {
        const found = Number(reply[1]);
        const said = reply[0].replaceAll(/^\d{3}[- ]?/gm, '').trim();
        if (found !== code) throw new SmtpError(found, `it answered ${found} to ${after}: ${said.slice(0, 200)}`);
        return said.replaceAll('\r', '');
      }
      if (this.#failed !== undefined) throw this.#failed;
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }

  #fail(error: Error): void {
    this.#failed ??= error;
    this.#wake();
  }
}

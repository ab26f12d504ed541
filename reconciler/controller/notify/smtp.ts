// Sends one mail with nodemailer, loaded on demand: TLS from the start (smtps) or by STARTTLS. Refuses clear text except to this
// machine.
import { isLoopback } from '../../../server/lib/shared/net/loopback.ts';
import type { SMTPError } from 'nodemailer/lib/smtp-connection';

export interface Mail {
  readonly url: URL;
  readonly login?: { readonly user: string; readonly password: string };
  readonly ca?: string;
  readonly from: string;
  readonly to: readonly string[];
  readonly subject: string;
  readonly text: string;
  readonly id: string;
  /** ISO 8601. */
  readonly at: string;
}

/** The server refused a command; a 4xx is worth a retry. */
export class SmtpError extends Error {
  override readonly name = 'SmtpError';
  readonly code: number;

  constructor(code: number, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

export async function sendMail(mail: Mail, signal: AbortSignal): Promise<void> {
  const { url, login, ca, from, to, subject, text, id, at } = mail;
  const { createTransport } = await import('nodemailer');
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const secure = url.protocol === 'smtps:';
  const transport = createTransport({
    host,
    port: url.port === '' ? (secure ? 465 : 587) : Number(url.port),
    name: 'gantry',
    secure,
    requireTLS: !secure && !isLoopback(host),
    ...(login === undefined ? {} : { auth: { user: login.user, pass: login.password } }),
    ...(ca === undefined ? {} : { tls: { ca } }),
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  try {
    const { rejected } = await transport.sendMail({
      from: { name: '', address: from },
      to: to.map((address) => ({ name: '', address })),
      subject,
      text,
      messageId: `<${id}@gantry>`,
      date: new Date(at),
      headers: { 'Auto-Submitted': 'auto-generated' },
      signal,
    });
    if (rejected.length > 0) throw new SmtpError(550, `it did not take it for ${rejected.join(', ')}`);
  } catch (error) {
    throw explained(error, host);
  }
}

function explained(error: unknown, host: string): unknown {
  const { code, command, response, responseCode } = error as SMTPError;
  if (responseCode === undefined) return error;
  const message =
    code === 'ETLS'
      ? `${host} offers no STARTTLS: the message would go in clear text; use smtps://`
      : `it answered ${responseCode} to ${command ?? 'the connection'}: ${(response ?? '').slice(0, 200)}`;
  return new SmtpError(code === 'ETLS' ? 530 : responseCode, message, { cause: error });
}

// Log lines as go-plugin reads them from standard error; TF_LOG_PROVIDER decides which of them are shown.

export type Level = 'trace' | 'debug' | 'info' | 'warn' | 'error';
export type Log = (level: Level, message: string, fields?: Readonly<Record<string, string | number | boolean>>) => void;

/** Longer ones would be cut in the middle by the reader, and then are no JSON. */
const maxLineBytes = 60 * 1024;

/** Message and level are strings and the time has six digits, or Terraform takes the line for plain text. */
export function logLine(
  now: Date,
  level: Level,
  message: string,
  fields: Readonly<Record<string, string | number | boolean>> = {},
): string {
  const line = (text: string): string =>
    `${JSON.stringify({
      ...fields,
      '@level': level,
      '@message': text,
      '@module': 'provider',
      '@timestamp': now.toISOString().replace('Z', '000Z'),
    })}\n`;
  const whole = line(message);
  return Buffer.byteLength(whole) <= maxLineBytes ? whole : line(`${message.slice(0, maxLineBytes / 8)}...`);
}

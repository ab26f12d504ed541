// Writes log lines for go-plugin, which reads them from standard error; TF_LOG_PROVIDER selects the levels that Terraform shows.

export type Level = 'trace' | 'debug' | 'info' | 'warn' | 'error';
export type Log = (level: Level, message: string) => void;

/** The reader cuts longer lines in the middle, which breaks the JSON. */
const maxLineBytes = 60 * 1024;

/** Message and level are strings and the time has six digits, or Terraform takes the line for plain text. */
export function logLine(now: Date, level: Level, message: string): string {
  const line = (text: string): string =>
    `${JSON.stringify({
      '@level': level,
      '@message': text,
      '@module': 'provider',
      '@timestamp': now.toISOString().replace('Z', '000Z'),
    })}\n`;
  const whole = line(message);
  return Buffer.byteLength(whole) <= maxLineBytes ? whole : line(`${message.slice(0, maxLineBytes / 8)}...`);
}

// Removes secrets that URLs and error messages may contain from a text for users and logs. Pure.

const values = /([?&](?:secret|password|token|access_token)=)[^&\s"']+/gi;
const privateKeys = /-----BEGIN [A-Z ]*PRIVATE KEY-----[^]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g;

export function withoutSecrets(text: string): string {
  const hasValues = text.includes('=') ? text.replace(values, '$1***') : text;
  return hasValues.includes('PRIVATE KEY') ? hasValues.replace(privateKeys, '(a private key)') : hasValues;
}

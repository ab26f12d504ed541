// The console output of a container as plain text, without colours and cursor movements. Pure.

// oxlint-disable-next-line no-control-regex
const sequences = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[@-Z\\-_])/g;
// oxlint-disable-next-line no-control-regex
const others = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/g;

/** An overwritten line shows its last text. */
export const plainLog = (text: string): string =>
  text
    .replaceAll(sequences, '')
    .replaceAll('\r\n', '\n')
    .replaceAll(others, '')
    .split('\n')
    .map((line) => line.replace(/\r+$/, '').split('\r').at(-1) ?? '')
    .join('\n');

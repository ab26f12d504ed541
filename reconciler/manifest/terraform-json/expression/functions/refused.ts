// Functions of Terraform that are refused, each with the reason.
const always = 'every plan would find a change';
const random = 'its result is another one each time';

export const refusedFunctions: Readonly<Record<string, string>> = {
  timestamp: always,
  plantimestamp: always,
  uuid: random,
  bcrypt: random,
  base64gzip: 'its bytes depend on the program that compresses',
  rsadecrypt: 'keys do not belong into a configuration: decrypt before, and give the value as a sensitive variable',
  issensitive: 'gantry tracks sensitivity for whole arguments, not for values',
};

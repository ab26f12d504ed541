// How readers of gantry.yaml report a problem.
import { wrong, type Finding } from '../../manifest/text/finding.ts';

/** `message` goes on after the path: `must be ...`. */
export type Report = (path: string, message: string, remedy?: string) => void;

export const reportInto =
  (problems: Finding[]): Report =>
  (path, message, remedy) =>
    void problems.push(wrong('bad-config', path, `${path} ${message}`, remedy));

// Parses untrusted YAML: at once if small, otherwise in a separate thread.
import { driverErrors } from '../driver-error.ts';
import { parseAside } from '../parse-in-thread.ts';
import { reasonOf } from '../../lib/shared/reason.ts';

/** `what` names the text in messages. Throws DriverError Invalid. */
export async function readYaml(text: string, what: string): Promise<unknown> {
  const { isSmallYaml, parseYaml } = await import('./yaml-parser.ts');
  if (!isSmallYaml(text)) {
    const bytes = new TextEncoder().encode(text);
    return (await parseAside({ job: 'yaml', bytes }, what))[0];
  }
  try {
    return parseYaml(text);
  } catch (error) {
    throw driverErrors.invalid(`${what} cannot be read: ${reasonOf(error)}`);
  }
}

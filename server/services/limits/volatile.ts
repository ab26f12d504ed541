// Server-kept keys of a container that a client sends: a restricted project may not choose those that affect the host, such as the host ids
// of its files. Reads records only.
import { AppError } from '../../api/errors.ts';
import { isVolatile } from '../../api/container/container-config.ts';
import { isRestricted, restriction } from '../../api/project/project-restrictions.ts';
import { projectOf } from '../../api/project/project-names.ts';
import type { Records } from '../../records/records.ts';

const harmless =
  /^volatile\.(?:apply_template|base_image|last_state\.power|.+\.apply_quota|.+\.hwaddr|.+\.ipv[46]\.address)$/;

/** The config that creates the container. Copies drop such keys, which clients send along; otherwise throws forbidden. */
export function withoutHostKeys(
  records: Pick<Records, 'projects'>,
  container: string,
  sent: Readonly<Record<string, string>>,
  isCopy: boolean,
): Readonly<Record<string, string>> {
  const project = projectOf(container);
  const config = records.projects.get(project)?.document.config ?? {};
  if (!isRestricted(config) || restriction(config, 'restricted.containers.lowlevel') === 'allow') return sent;
  const reaching = Object.keys(sent).filter((key) => isVolatile(key) && !harmless.test(key));
  if (reaching.length === 0) return sent;
  if (isCopy) return Object.fromEntries(Object.entries(sent).filter(([key]) => !reaching.includes(key)));
  const message = `is kept by the server: the project ${project} does not allow it (restricted.containers.lowlevel is block)`;
  const details = reaching.map((key) => ({ path: `config.${key}`, message }));
  throw new AppError('forbidden', details.map((each) => `${each.path} ${each.message}`).join('; '), { details });
}

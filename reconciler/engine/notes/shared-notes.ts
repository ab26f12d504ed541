// Finds the notes that both an administrator and the restricted clients of a project see. A set is locked there too, so that they
// never apply the same set at once.
import { isTrue } from '../../../server/api/container/container-config.ts';
import type { Certificate } from '../../../server/api/server/certificate.ts';
import { isNotFound } from '../../../server/client/client-error.ts';
import { isSharedProject } from '../../core/ownership/project-notes.ts';
import type { Notes, NotesClient } from './notes.ts';
import { ProjectNotes } from './project-notes.ts';
import { ServerNotes } from './server-notes.ts';

/** Undefined for a restricted client (its own notes are there), or if no restricted client can apply in the project. */
export async function sharedNotes(
  client: NotesClient,
  project: string | undefined,
  signal: AbortSignal,
): Promise<Notes | undefined> {
  const server = await new ServerNotes(client).read(signal);
  if (server.isHidden) return undefined;
  const certificates: readonly Partial<Certificate>[] = await client.list('certificate', signal);
  if (!isSharedProject(project, certificates, server.config)) return undefined;
  return (await hasProfiles(client, project, signal)) ? new ProjectNotes(client, project) : undefined;
}

async function hasProfiles(client: NotesClient, project: string | undefined, signal: AbortSignal): Promise<boolean> {
  if (project === undefined || project === '' || project === 'default') return true;
  try {
    return isTrue((await client.get('project', project, signal)).metadata.config['features.profiles']);
  } catch (error) {
    if (isNotFound(error)) return false;
    throw error;
  }
}

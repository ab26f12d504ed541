// The reserved name of the profile with notes of sets, and its description.

/** No container uses this profile: guests would see the notes. */
export const notesProfile = 'gantry-notes';
export const notesDescription =
  'Notes of gantry about the sets of this project: owners, locks, history. Not for containers.';

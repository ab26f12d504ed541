terraform import gantry_snapshot.example 'web/before-upgrade'

terraform import gantry_profile.example 'web'

#compdef agent
# Completion of agent for zsh.
_agent() {
    local word about
    local -a found
    while IFS=$'\t' read -r word about; do
        case $word in
        (:files) _files; return ;;
        (:folders) _files -/; return ;;
        (?*) found+=("${word//:/\\:}${about:+:$about}") ;;
        esac
    done < <(command agent __complete "${(@)words[2,CURRENT]}" 2>/dev/null </dev/null)
    _describe agent found
}
if [[ ${funcstack[1]} == _agent ]]; then
    _agent "$@"
else
    compdef _agent agent
fi

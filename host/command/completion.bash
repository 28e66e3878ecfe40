# Completion of agent for bash.
_agent() {
    local word about
    COMPREPLY=()
    while IFS=$'\t' read -r word about; do
        case $word in
        :files) compopt -o default 2>/dev/null ;;
        :folders) compopt -o dirnames 2>/dev/null ;;
        ?*) printf -v word %q "$word" && COMPREPLY+=("$word") ;;
        esac
    done < <(command agent __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null </dev/null)
}
complete -F _agent agent
